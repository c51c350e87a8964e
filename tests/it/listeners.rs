//! Connections and listeners of a real gate: the connections that are refused, and the addresses that serve operations.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;

use crate::harness::{GateSettings, Http, Stack, Tenant, seconds, shared, until, weir};

fn address_of(url: &str) -> &str {
    url.trim_start_matches("http://")
}

fn free_address() -> String {
    format!("127.0.0.1:{}", weir_local::free_port().expect("one of many ports is free"))
}

async fn status(http: &Http, url: &str) -> u16 {
    http.try_get(url).await.map_or(0, |reply| reply.status)
}

async fn gate(stack: &Stack, env: Vec<(&'static str, String)>) -> crate::harness::Server {
    let gate = stack.gate(GateSettings { env, ..GateSettings::default() });
    stack.until_ready(&gate).await;
    gate
}

#[tokio::test]
async fn operations_have_a_listener_of_their_own_that_answers_when_the_public_one_is_full() {
    let stack = shared().await;
    let operations = free_address();
    let env = vec![
        ("WEIR_OPERATIONS_ADDR", operations.clone()),
        ("WEIR_CONNECTIONS_MAX", "8".to_owned()),
    ];
    let gate = gate(stack, env).await;
    let http = Http::new();
    for path in ["/metrics", "/openapi.json", "/docs"] {
        assert_eq!(status(&http, &format!("{}{path}", gate.url)).await, 404, "{path}");
    }
    assert_eq!(status(&http, &format!("{}/healthz", gate.url)).await, 200);
    // Connections are busy while the bodies of their requests do not arrive.
    let body = "POST /check HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n";
    let held: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = TcpStream::connect(address_of(&gate.url)).expect("it listens");
            let _ = stream.write_all(body.as_bytes());
            stream
        })
        .collect();
    for path in ["/healthz", "/readyz", "/metrics", "/openapi.json"] {
        assert_eq!(status(&http, &format!("http://{operations}{path}")).await, 200, "{path}");
    }
    assert_eq!(status(&http, &format!("http://{operations}/check")).await, 404);
    let health = ("WEIR_HEALTH_URL", format!("http://{operations}"));
    assert!(weir(&["health"], &[(health.0, &health.1)], "").status.success());
    drop(held);
}

#[tokio::test]
async fn idle_connections_keep_no_honest_client_out() {
    let stack = shared().await;
    let env = vec![
        ("WEIR_CONNECTIONS_MAX", "64".to_owned()),
        ("WEIR_CONNECTIONS_PER_ADDRESS_MAX", "32".to_owned()),
    ];
    let gate = gate(stack, env).await;
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let held: Vec<TcpStream> = (0..200)
        .map(|at| {
            let mut stream = TcpStream::connect(address_of(&gate.url)).expect("it listens");
            // Each connection sends nothing, half a head, or HTTP/2 without a request.
            let sent: &[u8] = [&b""[..], b"POST /check HTTP/1.1\r\nHost: a", preface][at % 3];
            let _ = stream.write_all(sent);
            stream
        })
        .collect();
    let tenant = Tenant::sign_up(stack).await;
    let url = format!("{}/healthz", gate.url);
    for _ in 0..50 {
        assert_eq!(status(&Http::new(), &url).await, 200);
    }
    let metrics = format!("{}/metrics", gate.url);
    until(seconds(20), "idle connections were closed", async || {
        let request = tenant.http.request(reqwest::Method::GET, &metrics);
        let text = request.send().await.expect("a scrape").text().await.expect("text");
        text.contains("weir_connections_refused_total{listener=\"gate\",reason=\"address_full\"} 0")
            && !text
                .contains("weir_connections_closed_total{listener=\"gate\",reason=\"evicted\"} 0")
    })
    .await;
    drop(held);
}

#[tokio::test]
async fn half_closed_client_gets_its_decision() {
    let stack = shared().await;
    let tenant = Tenant::sign_up(stack).await;
    let limits = json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 60_000 }]);
    tenant.rule(&json!({ "name": "half", "count_by": ["user"], "limits": limits })).await;
    let body = json!({ "attributes": { "user": "u" } }).to_string();
    let request = format!(
        "POST /check HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        tenant.key,
        body.len()
    );
    let mut stream = TcpStream::connect(address_of(&stack.gates[0].url)).expect("it listens");
    stream.set_read_timeout(Some(seconds(20))).expect("a socket");
    stream.write_all(request.as_bytes()).expect("the gate reads");
    stream.shutdown(std::net::Shutdown::Write).expect("the sending side ends");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert!(answer.contains("\"allowed\":true"), "{answer}");
}
