//! Requests that are not exactly HTTP/1.1 are refused with a problem, and the connection is closed.

use super::*;

async fn refused(running: &Running, sent: &str) -> String {
    let answer = exchange(running.addr, sent.as_bytes()).await;
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "one answer to {sent:.80}: {answer:?}");
    for header in [
        "content-type: application/problem+json",
        "content-security-policy: ",
        "x-content-type-options: nosniff",
        "x-request-id: req_",
        "cache-control: no-store",
        "connection: close",
    ] {
        assert!(answer.contains(&format!("\r\n{header}")), "{header} to {sent:.80}: {answer:?}");
    }
    answer
}

#[tokio::test]
async fn ambiguous_heads_are_answered_with_a_problem_and_the_connection_closed() {
    let running = start(patient()).await;
    let bodies = [
        "Host: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Host: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "Host: a\r\nTransfer-Encoding: identity\r\n\r\n",
        "Host: a\nContent-Length: 0\n\n",
        "Host: a\r\nHost: a\r\n\r\n",
        "X: a\r\n\r\n",
        "Host: a\r\nContent-Length: 00002\r\n\r\n{}",
        "Host: a\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        "Host: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        "Host: a\r\nContent-Length : 1\r\n\r\n",
        "Host: a\r\nX: \u{0}\r\n\r\n",
    ];
    for body in bodies {
        let answer = refused(&running, &format!("POST /echo HTTP/1.1\r\n{body}")).await;
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{body:?} got {answer:?}");
        assert!(answer.contains("\"code\":\"malformed\""), "{answer}");
    }
    for sent in ["hello\r\n\r\n", "\0\0\0\0", "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n"] {
        assert!(refused(&running, sent).await.starts_with("HTTP/1.1 400 "), "{sent:?}");
    }
    counted(&running.meters, "weir_malformed_requests_total{listener=\"test\"} 14\n").await;
}

#[tokio::test]
async fn heads_that_are_too_large_are_431_with_the_bounds() {
    let running = start(patient()).await;
    let many_headers = "X-A: b\r\n".repeat(64);
    for sent in [
        format!("GET / HTTP/1.1\r\nHost: a\r\n{many_headers}\r\n"),
        format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(70_000)),
    ] {
        let answer = refused(&running, &sent).await;
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
        assert!(answer.contains("64 headers and 64 KiB"), "{answer}");
    }
}

#[tokio::test]
async fn every_request_of_a_connection_is_checked_however_it_arrives() {
    let good = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    let chunked = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";
    let bad = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 05\r\n\r\nhello";
    let sent = [good, chunked, good, bad, good].concat();
    let running = start(patient()).await;
    // The bytes arrive at once, one by one, and in groups of seven.
    for piece in [sent.len(), 1, 7] {
        let mut stream = TcpStream::connect(running.addr).await.expect("listening");
        stream.set_nodelay(true).expect("a socket");
        for part in sent.as_bytes().chunks(piece) {
            // The server has possibly refused and closed before the last bytes.
            let _ = stream.write_all(part).await;
        }
        let answer = read_to_end(&mut stream).await;
        assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 3, "{piece}: {answer}");
        assert_eq!(answer.matches("\r\n\r\nhello").count(), 3, "{piece}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 400 ").count(), 1, "{piece}: {answer}");
    }
}

#[tokio::test]
async fn broken_chunks_end_the_connection_with_one_answer() {
    let running = start(patient()).await;
    let head = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let answer = exchange(running.addr, format!("{head}5\nhello\r\n0\r\n\r\n").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
}

#[tokio::test]
async fn refusal_before_the_body_says_that_the_connection_closes_and_is_not_lost() {
    let running = start(patient()).await;
    let mut stream = TcpStream::connect(running.addr).await.expect("listening");
    let head = "POST /refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 400000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.expect("open");
    let body = vec![b'x'; 400_000];
    stream.write_all(&body).await.expect("the server reads on, so the client gets to the answer");
    let answer = read_to_end(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");

    let whole = "POST /refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    let last = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let answer = exchange(running.addr, format!("{whole}{last}").as_bytes()).await;
    assert_eq!(
        answer.matches("HTTP/1.1 ").count(),
        2,
        "a read body keeps the connection: {answer}"
    );
}
