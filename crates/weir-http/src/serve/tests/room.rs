//! Idle connections do not block clients, and an overloaded process refuses requests at once.

use std::sync::mpsc;

use super::*;

async fn idle(running: &Running, count: usize) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    for _ in 0..count {
        streams.push(TcpStream::connect(running.addr).await.expect("listening"));
    }
    streams
}

const ASK: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

#[tokio::test]
async fn honest_client_is_served_while_idle_connections_fill_the_listener() {
    for settings in [
        ServeSettings { connections_max: 16, ..patient() },
        ServeSettings { connections_per_address_max: 16, ..patient() },
    ] {
        let running = start(settings).await;
        let held = idle(&running, 60).await;
        for _ in 0..20 {
            let answer = exchange(running.addr, ASK).await;
            assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        }
        counted(
            &running.meters,
            "weir_connections_refused_total{listener=\"test\",reason=\"listener_full\"} 0\n",
        )
        .await;
        drop(held);
    }
}

#[tokio::test]
async fn new_connection_is_refused_with_503_while_all_are_busy() {
    let mut running = start(ServeSettings { connections_max: 1, ..patient() }).await;
    let mut busy = TcpStream::connect(running.addr).await.expect("listening");
    busy.write_all(b"GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        .await
        .expect("open");
    running.entered.changed().await.expect("the route is alive");
    let answer = exchange(running.addr, ASK).await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.contains("\r\nretry-after: 1\r\n"), "{answer}");
    running.finish.add_permits(1);
    assert!(read_to_end(&mut busy).await.ends_with("done"), "the first connection is served");
    let answer = exchange(running.addr, ASK).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
}

#[tokio::test]
async fn requests_above_the_bound_in_flight_are_refused_and_health_is_not() {
    let mut running = start(ServeSettings { requests_max: 1, ..patient() }).await;
    let addr = running.addr;
    let slow = b"GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let asking = tokio::spawn(async move { exchange(addr, slow).await });
    running.entered.changed().await.expect("the route is alive");
    let answer = exchange(addr, ASK).await;
    assert!(
        answer.starts_with("HTTP/1.1 503 ") && answer.contains("\r\nretry-after: 1\r\n"),
        "{answer}"
    );
    let health = b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let answer = exchange(addr, health).await;
    assert!(!answer.starts_with("HTTP/1.1 503 "), "{answer}");
    running.finish.add_permits(1);
    assert!(asking.await.expect("no panic").ends_with("done"));
    counted(
        &running.meters,
        "weir_shed_requests_total{listener=\"test\",reason=\"in_flight\"} 1\n",
    )
    .await;
}

/// A process with one thread, which each request keeps busy, so that later requests wait.
#[test]
fn requests_that_waited_too_long_are_refused_at_once_and_later_ones_are_answered() {
    let (address, bound) = mpsc::channel();
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    let server = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let busy = || async {
                let until = Instant::now() + Duration::from_millis(60);
                while Instant::now() < until {
                    std::hint::spin_loop();
                }
                "done"
            };
            let settings =
                PlaneSettings { request_ids: RequestIds::new(|| 0), request_deadline: None };
            let plane = Plane::new(Router::new().route("/", get(busy)), settings);
            let listener = bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a free port");
            address.send(listener.local_addr().expect("bound")).expect("the test waits");
            let settings = ServeSettings { wait_max: Duration::from_millis(40), ..patient() };
            serve(listener, plane, settings, stopped).await;
        });
    });
    let addr = bound.recv().expect("the server starts");
    let clients: Vec<_> = (0..24).map(|_| std::thread::spawn(move || ask_blocking(addr))).collect();
    let answers: Vec<String> =
        clients.into_iter().map(|client| client.join().expect("no panic")).collect();
    let refused: Vec<_> =
        answers.iter().filter(|answer| answer.starts_with("HTTP/1.1 503 ")).collect();
    assert!(!refused.is_empty(), "all were served, the last after more than a second");
    assert!(refused.iter().all(|answer| answer.contains("\r\nretry-after: 1\r\n")), "{refused:?}");
    assert!(answers.iter().any(|answer| answer.starts_with("HTTP/1.1 200 OK")), "{answers:?}");
    assert!(ask_blocking(addr).starts_with("HTTP/1.1 200 OK"), "no request waits any more");
    stop.cancel();
    server.join().expect("no panic");
}

fn ask_blocking(addr: SocketAddr) -> String {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(addr).expect("listening");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
    stream.write_all(ASK).expect("open");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

#[tokio::test]
async fn bodies_in_progress_are_bounded_by_address() {
    let settings = ServeSettings { body_bytes_per_address_max: 50_000, ..patient() };
    let running = start(settings).await;
    let begin = async |bytes: usize| {
        let mut stream = TcpStream::connect(running.addr).await.expect("listening");
        let head = format!(
            "POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 40000\r\nConnection: close\r\n\r\n{}",
            "x".repeat(bytes)
        );
        stream.write_all(head.as_bytes()).await.expect("open");
        stream
    };
    let mut first = begin(39_999).await;
    // Until the server has read the first body, there is room for others.
    let refused = async {
        loop {
            let mut stream = begin(40_000).await;
            let answer = read_to_end(&mut stream).await;
            if answer.starts_with("HTTP/1.1 503") {
                return answer;
            }
            assert!(answer.ends_with("40000"), "{answer}");
        }
    };
    let refused = tokio::time::timeout(Duration::from_secs(20), refused).await.expect("in time");
    assert!(refused.contains("hold too many bytes"), "{refused}");
    first.write_all(b"x").await.expect("open");
    assert!(read_to_end(&mut first).await.ends_with("40000"));
    assert!(read_to_end(&mut begin(40_000).await).await.ends_with("40000"), "room again");
}
