//! A rolling restart of gates behind a load balancer (`haproxy`) loses no request.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;
use tokio::task::JoinSet;
use weir_local::{Launch, ScratchDir, StopSignal, WatchedProcess, free_port};

use crate::harness::{
    GateSettings, Http, Server, Tenant, seconds, send_signal, shared, try_send, until,
};

/// The load balancer, with its page about the state of the gates.
struct Proxy {
    url: String,
    states: String,
    _process: WatchedProcess,
    _scratch: ScratchDir,
}

/// Callers, half of which open a connection for each check.
const CALLERS: usize = 8;
/// The fewest checks of each caller.
const CHECKS_OF_EACH: usize = 300;

/// G-12: the gates have the default `WEIR_DRAIN_MS`. The load balancer asks for `/readyz` twice per second and repeats no request.
#[tokio::test]
async fn rolling_restart_of_three_gates_behind_haproxy_fails_no_request() {
    let stack = shared().await;
    let drain = || GateSettings {
        env: vec![("WEIR_DRAIN_MS", "5000".to_owned())],
        ..GateSettings::default()
    };
    let gates = [(); 3].map(|()| stack.gate(drain()));
    for gate in &gates {
        stack.until_ready(gate).await;
    }
    let tenant = Tenant::sign_up(stack).await;
    let rule = json!({ "name": "counted",
        "limits": [{ "algorithm": "fixed_window", "limit": 1_000_000_000, "window_ms": 3_600_000 }] });
    let rule = tenant.rule(&rule).await;
    for gate in &gates {
        tenant.settled_on(gate, rule.version).await;
    }
    let proxy = Proxy::start(&gates);
    for at in 0..gates.len() {
        proxy.until_up(at).await;
    }

    let load = Load::start(&proxy.url, &tenant.key);
    for (at, gate) in gates.iter().enumerate() {
        load.until_answered(100).await;
        send_signal(gate.pid(), "TERM");
        until(seconds(60), "the gate ends", async || gate.exit_code().is_some()).await;
        assert_eq!(gate.exit_code(), Some(0), "{}", gate.log());
        gate.start_again();
        proxy.until_up(at).await;
    }
    load.until_each_sent(CHECKS_OF_EACH).await;
    let failures = load.end().await;
    assert_eq!(failures, Vec::<String>::new());
}

/// Callers that send checks until they are asked to end: some reuse their connection, others open one for each check.
struct Load {
    /// The checks that were answered, by caller.
    answered: Arc<[AtomicUsize; CALLERS]>,
    over: Arc<AtomicBool>,
    callers: JoinSet<Vec<String>>,
}

impl Load {
    fn start(url: &str, key: &str) -> Self {
        let (answered, over) =
            (Arc::<[AtomicUsize; CALLERS]>::default(), Arc::<AtomicBool>::default());
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            let (url, key) = (format!("{url}/check"), key.to_owned());
            let (answered, over) = (Arc::clone(&answered), Arc::clone(&over));
            let connection = if caller < CALLERS / 2 { "keep-alive" } else { "close" };
            callers.spawn(async move {
                let (http, mut failures) = (Http::new(), Vec::new());
                while !over.load(Ordering::Relaxed) {
                    let request = http.request(reqwest::Method::POST, &url).bearer_auth(&key);
                    let request = request.header("connection", connection).json(&json!({}));
                    match try_send(request).await {
                        Ok(reply) if reply.status == 200 => {}
                        Ok(reply) => failures.push(format!("{} {}", reply.status, reply.body)),
                        Err(error) => failures.push(format!("{error:?}")),
                    }
                    answered[caller].fetch_add(1, Ordering::Relaxed);
                }
                failures
            });
        }
        Self { answered, over, callers }
    }

    /// Waits for this number of further answers.
    async fn until_answered(&self, further: usize) {
        let total = || self.answered().sum::<usize>();
        let goal = total() + further;
        until(seconds(60), "checks are answered", async || total() >= goal).await;
    }

    /// Waits until each caller has this number of answers.
    async fn until_each_sent(&self, checks: usize) {
        let reached = async || self.answered().all(|answered| answered >= checks);
        until(seconds(120), "each caller sends its checks", reached).await;
    }

    fn answered(&self) -> impl Iterator<Item = usize> {
        self.answered.iter().map(|answered| answered.load(Ordering::Relaxed))
    }

    /// Ends the callers. Returns the failures of all.
    async fn end(self) -> Vec<String> {
        self.over.store(true, Ordering::Relaxed);
        self.callers.join_all().await.concat()
    }
}

impl Proxy {
    fn start(gates: &[Server]) -> Self {
        let scratch = ScratchDir::create().expect("a scratch folder");
        let [port, states_port] = [(); 2].map(|()| free_port().expect("a port is free"));
        let configuration = scratch.path().join("haproxy.cfg");
        std::fs::write(&configuration, Self::configuration(port, states_port, gates))
            .expect("a file of the test");
        let launch = Launch::new(haproxy(), scratch.path(), &scratch.path().join("log"))
            .args(["-db", "-f"])
            .args([&configuration])
            .stop_by(StopSignal::Terminate, seconds(10));
        let process = WatchedProcess::spawn(launch).expect("start HAProxy");
        Self {
            url: format!("http://127.0.0.1:{port}"),
            states: format!("http://127.0.0.1:{states_port}/states;csv"),
            _process: process,
            _scratch: scratch,
        }
    }

    fn configuration(port: u16, states_port: u16, gates: &[Server]) -> String {
        let mut text = format!(
            "defaults\n  mode http\n  retries 0\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n\
             frontend checks\n  bind 127.0.0.1:{port}\n  default_backend gates\n\
             frontend states\n  bind 127.0.0.1:{states_port}\n  stats enable\n  stats uri /states\n\
             backend gates\n  balance roundrobin\n  option httpchk GET /readyz\n  http-check expect status 200\n\
             \x20 default-server check inter 500ms fall 2 rise 1\n"
        );
        for (at, gate) in gates.iter().enumerate() {
            let address = gate.url.trim_start_matches("http://");
            let _ = writeln!(text, "  server gate-{at} {address}");
        }
        text
    }

    /// Waits until the load balancer sends requests to this gate.
    async fn until_up(&self, gate: usize) {
        let http = Http::new();
        let row = format!("gates,gate-{gate},");
        until(seconds(60), "HAProxy finds the gate ready", async || {
            let Ok(reply) = http.request(reqwest::Method::GET, &self.states).send().await else {
                return false;
            };
            let states = reply.text().await.unwrap_or_default();
            // The 18th column is the state.
            let row = states.lines().find(|line| line.starts_with(&row));
            row.and_then(|row| row.split(',').nth(17)) == Some("UP")
        })
        .await;
    }
}

/// The path of `haproxy`, which Debian does not install on the path of every account.
fn haproxy() -> &'static Path {
    let runs = |path: &&str| Command::new(path).arg("-v").output().is_ok();
    let found = ["haproxy", "/usr/sbin/haproxy"].into_iter().find(runs);
    Path::new(found.expect("HAProxy is missing: cargo xtask setup --for test"))
}
