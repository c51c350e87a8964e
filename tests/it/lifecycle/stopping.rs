//! SIGTERM: load balancers learn that the process ends, requests in flight finish, then it ends.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tokio::task::JoinSet;

use crate::harness::{
    GateSettings, Http, Server, Tenant, listens, seconds, send_signal, shared, try_send, until,
};

/// F-16.
#[tokio::test]
async fn stopping_gate_answers_requests_in_flight_and_ends_with_0() {
    let stack = shared().await;
    let gate = stack.gate(GateSettings::default());
    stack.until_ready(&gate).await;
    let tenant = Tenant::sign_up(stack).await;
    let rule = json!({ "name": "counted",
        "limits": [{ "algorithm": "fixed_window", "limit": 1_000_000, "window_ms": 3_600_000 }] });
    let rule = tenant.rule(&rule).await;
    tenant.settled_on(&gate, rule.version).await;

    let in_flight: Vec<_> = (0..12).map(|_| InFlight::start(&gate, &tenant.key)).collect();
    let answered = Arc::new(AtomicUsize::new(0));
    let load = load(&gate, &tenant.key, &answered);
    until(seconds(20), "the load is on", async || answered.load(Ordering::Relaxed) > 50).await;
    send_signal(gate.pid(), "TERM");
    let port = gate.url.rsplit_once(':').expect("it has a port").1.parse().expect("a number");
    until(seconds(10), "the port is closed", async || !listens(port)).await;
    for request in in_flight {
        let answer = request.finish();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(answer.contains("\"degraded\":null"), "{answer}");
    }
    load.join_all().await;
    until(seconds(20), "the process ends", async || gate.exit_code().is_some()).await;
    assert_eq!(gate.exit_code(), Some(0), "{}", gate.log());
}

/// Starts callers that open a connection for each request until the gate no longer listens. Every answer must be a decision.
fn load(gate: &Server, key: &str, answered: &Arc<AtomicUsize>) -> JoinSet<()> {
    let mut callers = JoinSet::new();
    for _ in 0..8 {
        let (url, key) = (format!("{}/check", gate.url), key.to_owned());
        let answered = Arc::clone(answered);
        callers.spawn(async move {
            let http = Http::new();
            loop {
                let request = http.request(reqwest::Method::POST, &url).bearer_auth(&key);
                let request = request.header("connection", "close").json(&json!({}));
                let Ok(reply) = try_send(request).await else { return };
                assert!(matches!(reply.status, 200 | 429), "{} {}", reply.status, reply.body);
                answered.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    callers
}

/// A request whose body the gate has begun to read.
struct InFlight(BufReader<TcpStream>);

impl InFlight {
    fn start(gate: &Server, key: &str) -> Self {
        let address = gate.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).expect("the gate listens");
        stream.set_read_timeout(Some(seconds(20))).expect("a time-out can be set");
        let head = format!(
            "POST /check HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("the gate reads");
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).expect("the gate asks for the body");
        assert!(line.starts_with("HTTP/1.1 100 "), "{line}");
        reader.read_line(&mut line).expect("the gate ends its interim answer");
        Self(reader)
    }

    fn finish(mut self) -> String {
        self.0.get_mut().write_all(b"{}").expect("the gate still reads");
        let mut answer = String::new();
        self.0.read_to_string(&mut answer).expect("the gate answers and closes");
        answer
    }
}

/// G-12. The second SIGTERM ends the time in which the process serves without being ready.
#[tokio::test]
async fn process_that_was_asked_to_stop_is_not_ready_and_serves_until_the_drain_is_over() {
    let stack = shared().await;
    let env = vec![("WEIR_DRAIN_MS", "60000".to_owned())];
    let gate = stack.gate(GateSettings { env, ..GateSettings::default() });
    stack.until_ready(&gate).await;
    let control = stack.control_that_drains_for("60000").await;
    let tenant = Tenant::sign_up(stack).await;
    let (_, key, version) = tenant.make_key(&["check"]).await;
    tenant.settled_on(&gate, version).await;

    for server in [&gate, &control] {
        send_signal(server.pid(), "TERM");
        let ready = format!("{}/readyz", server.url);
        let http = Http::new();
        until(seconds(20), "the process is not ready", async || {
            http.try_get(&ready).await.is_some_and(|reply| reply.status == 503)
        })
        .await;
        let reply = http.get(&ready).await.expect(503);
        assert_eq!(reply.text("/detail"), "the process is stopping");
        Http::new().get(&format!("{}/healthz", server.url)).await.expect(200);
    }
    for _ in 0..5 {
        // Each client opens a connection.
        let reply = Http::new().post(&format!("{}/check", gate.url), &key, &json!({})).await;
        assert_eq!(reply.expect(200).header("connection"), None);
        Http::new().get(&format!("{}/api/v1/auth/options", control.url)).await.expect(200);
    }
    for server in [&gate, &control] {
        assert_eq!(server.exit_code(), None);
        send_signal(server.pid(), "TERM");
        until(seconds(20), "the process ends", async || server.exit_code().is_some()).await;
        assert_eq!(server.exit_code(), Some(0), "{}", server.log());
    }
}

/// The control plane ends in the same way, and so does a process after Ctrl-C.
#[tokio::test]
async fn idle_gate_ends_at_once_by_either_signal() {
    let stack = shared().await;
    for signal in ["TERM", "INT"] {
        let gate = stack.gate(GateSettings::default());
        stack.until_ready(&gate).await;
        let _idle = TcpStream::connect(gate.url.trim_start_matches("http://"));
        send_signal(gate.pid(), signal);
        until(seconds(10), "the process ends", async || gate.exit_code().is_some()).await;
        assert_eq!(gate.exit_code(), Some(0), "{signal}: {}", gate.log());
    }
}
