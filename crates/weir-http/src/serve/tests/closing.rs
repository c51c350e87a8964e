//! A listener that closes answers what reached it, and ends.

use super::*;

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// Reads one answer of a connection that stays open. The route `/` answers without line feeds at the end.
async fn read_answer(stream: &mut TcpStream) -> String {
    let mut answer = String::new();
    while !answer.ends_with("client 127.0.0.1") {
        let mut part = [0; 1024];
        let read = tokio::time::timeout(Duration::from_secs(20), stream.read(&mut part)).await;
        let count = read.expect("an answer in time").expect("an answer");
        assert!(count > 0, "the connection ended after {answer:?}");
        answer.push_str(&String::from_utf8_lossy(&part[..count]));
    }
    answer
}

#[tokio::test]
async fn requests_in_flight_finish_after_shutdown() {
    let mut running = start(quick()).await;
    let addr = running.addr;
    let asking =
        tokio::spawn(async move { exchange(addr, b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").await });
    running.entered.changed().await.expect("the route is alive");
    running.shutdown.cancel();
    running.finish.add_permits(1);
    let answer = asking.await.expect("no panic");
    assert!(answer.ends_with("done") && answer.contains("\r\nconnection: close\r\n"), "{answer}");
    running.task.await.expect("drained");
    assert!(TcpStream::connect(addr).await.is_err());
}

/// The runtime of the test has one thread, so the listener does not run between the connections and the shutdown.
#[tokio::test]
async fn connections_that_were_not_accepted_or_read_before_shutdown_are_answered() {
    let running = start(patient()).await;
    // The operating system opens connections before the process accepts them.
    let connect = |_| std::net::TcpStream::connect(running.addr).expect("listening");
    let mut streams: Vec<_> = (0..8).map(connect).collect();
    for stream in &mut streams[..4] {
        std::io::Write::write_all(stream, GET).expect("open");
    }
    running.shutdown.cancel();
    let mut answers = Vec::new();
    for (at, stream) in streams.into_iter().enumerate() {
        stream.set_nonblocking(true).expect("a socket");
        let mut stream = TcpStream::from_std(stream).expect("a socket");
        if at >= 4 {
            stream
                .write_all(GET)
                .await
                .expect("the listener has possibly closed, the connection not");
        }
        answers.push(tokio::spawn(async move { read_to_end(&mut stream).await }));
    }
    for answer in answers {
        let answer = answer.await.expect("no panic");
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer:?}");
        assert!(answer.contains("\r\nconnection: close\r\n"), "{answer:?}");
    }
    running.task.await.expect("drained");
}

#[tokio::test]
async fn idle_connection_is_answered_once_more_after_shutdown_and_then_closed() {
    let running = start(patient()).await;
    let mut stream = TcpStream::connect(running.addr).await.expect("listening");
    stream.write_all(GET).await.expect("open");
    let answer = read_answer(&mut stream).await;
    assert!(!answer.contains("connection: close"), "{answer}");
    running.shutdown.cancel();
    stream.write_all(GET).await.expect("open");
    let answer = read_to_end(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer:?}");
    assert!(answer.contains("\r\nconnection: close\r\n"), "{answer:?}");
    running.task.await.expect("drained");
}

#[tokio::test]
async fn connections_without_a_request_end_long_before_the_drain_deadline() {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let drain_deadline = Duration::from_mins(10);
    let http1 = ServeSettings { drain_deadline, ..patient() };
    // The client acknowledges nothing, so the time after `GOAWAY` decides.
    let first_bytes_deadline = Duration::from_secs(1);
    let http2 = ServeSettings { first_bytes_deadline, ..http1.clone() };
    for (settings, sent) in [(http1.clone(), &b""[..]), (http1, b"GET / HT"), (http2, PREFACE)] {
        let running = start(settings).await;
        let mut stream = TcpStream::connect(running.addr).await.expect("listening");
        stream.write_all(sent).await.expect("open");
        counted(&running.meters, "weir_connections{listener=\"test\"} 1\n").await;
        running.shutdown.cancel();
        let drained = tokio::time::timeout(Duration::from_secs(20), running.task).await;
        drained.expect("the connection ends by itself").expect("no panic");
    }
}

#[tokio::test]
async fn half_a_body_ends_at_the_drain_deadline() {
    let settings = ServeSettings { drain_deadline: Duration::from_millis(100), ..patient() };
    let running = start(settings).await;
    let mut stream = TcpStream::connect(running.addr).await.expect("listening");
    let half = b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello";
    stream.write_all(half).await.expect("open");
    counted(&running.meters, "weir_connections{listener=\"test\"} 1\n").await;
    running.shutdown.cancel();
    let drained = tokio::time::timeout(Duration::from_secs(20), running.task).await;
    drained.expect("the connection is cut").expect("no panic");
}
