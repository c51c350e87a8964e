//! The bounds of the accept loop, over real sockets.

use axum::routing::{get, post};
use axum::{Extension, Router};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;

use super::*;
use crate::client_address::ClientAddress;
use crate::json;
use crate::plane::PlaneSettings;
use crate::problem::Problem;
use crate::request_id::RequestIds;

struct Running {
    addr: SocketAddr,
    shutdown: CancellationToken,
    /// Changes when a request for `/slow` starts.
    entered: watch::Receiver<()>,
    /// Lets requests for `/slow` finish.
    finish: Arc<Semaphore>,
    meters: Arc<ListenerMeters>,
    task: tokio::task::JoinHandle<()>,
}

async fn start(settings: ServeSettings) -> Running {
    let (enter, entered) = watch::channel(());
    let finish = Arc::new(Semaphore::new(0));
    let finished = Arc::clone(&finish);
    let router = Router::new()
        .route(
            "/",
            get(|Extension(ClientAddress(client)): Extension<ClientAddress>| async move {
                format!("client {client}")
            }),
        )
        .route(
            "/slow",
            get(move || async move {
                enter.send_replace(());
                let permit = finished.acquire().await.expect("the semaphore stays open");
                permit.forget();
                "done"
            }),
        );
    let router = router
        .route("/big", get(|| async { "x".repeat(4 << 20) }))
        .route("/echo", post(|body: String| async move { body }))
        .route(
            "/read",
            post(async |request| json::read(request).await.map(|body| body.len().to_string())),
        )
        .route("/refuse", post(|| async { Problem::unauthenticated() }));
    let surroundings = PlaneSettings { request_ids: RequestIds::new(|| 0), request_deadline: None };
    let plane = Plane::new(router, surroundings);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let addr = listener.local_addr().expect("bound");
    let shutdown = CancellationToken::new();
    let meters = Arc::clone(&settings.meters);
    let task = tokio::spawn(serve(listener, plane, settings, shutdown.clone()));
    Running { addr, shutdown, entered, finish, meters, task }
}

fn quick() -> ServeSettings {
    ServeSettings {
        first_bytes_deadline: Duration::from_millis(100),
        idle_deadline: Duration::from_millis(100),
        write_deadline: Duration::from_millis(100),
        drain_deadline: Duration::from_secs(2),
        ..ServeSettings::default()
    }
}

/// Deadlines that no test reaches.
fn patient() -> ServeSettings {
    ServeSettings {
        first_bytes_deadline: Duration::from_mins(1),
        idle_deadline: Duration::from_mins(1),
        write_deadline: Duration::from_mins(1),
        ..quick()
    }
}

async fn exchange(addr: SocketAddr, sent: &[u8]) -> String {
    let mut stream = TcpStream::connect(addr).await.expect("listening");
    stream.write_all(sent).await.expect("open");
    read_to_end(&mut stream).await
}

/// Returns everything that arrives until the server ends the connection.
async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut answer));
    // A reset is also an end.
    let _ = read.await.expect("the server ends the connection in time");
    String::from_utf8_lossy(&answer).into_owned()
}

/// Waits until the listener's counters contain `line`.
async fn counted(meters: &ListenerMeters, line: &str) {
    let holds = async {
        while !meters.render("test").contains(line) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(20), holds).await.is_ok();
    assert!(in_time, "{line} is not in {}", meters.render("test"));
}

#[tokio::test]
async fn silent_and_half_opened_connections_are_closed_in_time() {
    let running = start(quick()).await;
    for sent in ["", "PRI * HTTP/2.0\r\n", "GET / HT", "GET / HTTP/1.1\r\nHost: a\r\nX-Slow: "] {
        let answer = exchange(running.addr, sent.as_bytes()).await;
        assert!(!answer.contains("200 OK"), "{sent:?} got {answer:?}");
    }
}

#[tokio::test]
async fn http1_answers_with_the_peer_and_closes_when_idle() {
    let running = start(quick()).await;
    let answer = exchange(running.addr, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert!(answer.ends_with("client 127.0.0.1"), "{answer}");
    assert!(!answer.contains("strict-transport-security"), "{answer}");
}

#[tokio::test]
async fn trusted_proxy_names_the_client_and_its_use_of_tls() {
    let trusted_proxies = "127.0.0.0/8".parse().expect("a network");
    let running = start(ServeSettings { trusted_proxies, ..quick() }).await;
    let request = b"GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.9, 192.0.2.7\r\n\
        X-Forwarded-Proto: https\r\n\r\n";
    let answer = exchange(running.addr, request).await;
    assert!(answer.ends_with("client 192.0.2.7"), "{answer}");
    assert!(answer.contains("strict-transport-security: max-age=31536000\r\n"), "{answer}");

    let running = start(quick()).await;
    let answer = exchange(running.addr, request).await;
    assert!(answer.ends_with("client 127.0.0.1"), "{answer}");
    assert!(!answer.contains("strict-transport-security"), "{answer}");
}

mod closing;
mod endings;
mod room;
mod strictness;
