//! A slow Weir: HAProxy's Lua client repeats its question, and the request counts once.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::json;

use super::{Application, Kind, Proxy, Surroundings, make_profile};
use crate::harness::{Tenant, shared};

/// A relay that withholds the first answer, and passes all others on.
struct Withholding {
    port: u16,
    connections: Arc<AtomicUsize>,
}

impl Withholding {
    fn start(gate: String) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let withholds = counted.fetch_add(1, Ordering::SeqCst) == 0;
                let gate = TcpStream::connect(&gate).expect("the gate listens");
                thread::spawn(move || relay(&stream, &gate, withholds));
            }
        });
        Self { port, connections }
    }
}

fn relay(client: &TcpStream, gate: &TcpStream, withholds: bool) {
    thread::scope(|scope| {
        scope.spawn(|| copy(client, gate, false));
        scope.spawn(|| copy(gate, client, withholds));
    });
}

/// Copies, or discards, until one of the ends is closed.
fn copy(mut from: &TcpStream, mut to: &TcpStream, discards: bool) {
    let mut bytes = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        if !discards && to.write_all(&bytes[..length]).is_err() {
            break;
        }
    }
    drop(to.shutdown(Shutdown::Both));
}

#[tokio::test]
async fn question_that_haproxy_repeats_counts_once() {
    let stack = shared().await;
    let tenant = Tenant::sign_up(stack).await;
    let rule = json!({
        "name": "all",
        "limits": [{ "algorithm": "sliding_window_log", "limit": 9, "window_ms": 86_400_000 }],
    });
    tenant.rule(&rule).await;
    make_profile(&tenant, Kind::Haproxy).await;
    let application = Application::start();
    let gate = stack.gates[0].url.trim_start_matches("http://").to_owned();
    let relay = Withholding::start(gate);
    let around = Surroundings {
        gate: &format!("127.0.0.1:{}", relay.port),
        application: application.port,
        key: &tenant.key,
        own_timeouts: true,
    };
    // Waits until the proxy answered a first request, and so for the end of all its attempts.
    let _proxy = Proxy::start(Kind::Haproxy, &around).await;
    assert!(relay.connections.load(Ordering::SeqCst) >= 2, "HAProxy repeats the question");
    // One was taken, and the peek answers as if it took another.
    let answer = tenant.check(0, &json!({ "mode": "peek" })).await;
    assert_eq!(answer.body["remaining"], 7, "{}", answer.body);
}
