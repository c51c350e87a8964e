//! Something else answers at Weir's address, such as a load balancer without gates: requests pass, as if Weir did not answer.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;

use super::{Application, Kind, Proxy, Surroundings, each_proxy};
use crate::harness::Http;

each_proxy!(pass_without_weir: nginx_forwards_when_a_stranger_answers, traefik_returns_what_a_stranger_answers,
    caddy_forwards_when_a_stranger_answers, haproxy_forwards_when_a_stranger_answers,
    envoy_forwards_when_a_stranger_answers);

/// Answers every request with a status. Returns its port.
fn stranger(status: &Arc<AtomicU16>) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    let status = Arc::clone(status);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let status = status.load(Ordering::SeqCst);
            thread::spawn(move || {
                let mut head = Vec::new();
                let mut bytes = [0; 4096];
                while !head.ends_with(b"\r\n\r\n") {
                    let Ok(length @ 1..) = stream.read(&mut bytes) else { return };
                    head.extend_from_slice(&bytes[..length]);
                }
                let answer = format!(
                    "HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                );
                drop(stream.write_all(answer.as_bytes()));
            });
        }
    });
    port
}

/// Traefik cannot: it returns every answer but 2xx. nginx closes a connection after a 408, whatever `error_page` says.
async fn pass_without_weir(kind: Kind) {
    let status = Arc::new(AtomicU16::new(503));
    let application = Application::start();
    let around = Surroundings {
        gate: &format!("127.0.0.1:{}", stranger(&status)),
        application: application.port,
        key: "weir_x",
        own_timeouts: false,
    };
    let proxy = Proxy::start(kind, &around).await;
    let http = Http::without_redirects();
    for answered in [301, 302, 400, 401, 404, 405, 413, 414, 421, 431, 500, 502, 503, 504] {
        status.store(answered, Ordering::SeqCst);
        let before = application.requests();
        let reply = http.get(&format!("{}/page", proxy.url)).await;
        let forwarded = application.requests() - before;
        let expected = if kind == Kind::Traefik { (answered, 0) } else { (200, 1) };
        assert_eq!((reply.status, forwarded), expected, "{kind:?} {answered}");
    }
}
