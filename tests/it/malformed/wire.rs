//! Bytes that are barely HTTP: none gets a decision, and none gets two answers.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use super::{assert_nothing_was_taken, watched};
use crate::harness::seconds;

/// S-54. Each request gets 400 once, as a problem, and the connection is closed.
#[tokio::test]
async fn ambiguous_framing_is_refused_and_the_connection_closed() {
    let (tenant, _) = watched().await;
    let address = tenant.stack.gates[0].url.trim_start_matches("http://").to_owned();
    let head = format!(
        "POST /check HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n",
        tenant.key
    );
    let smuggled = format!("{head}Content-Length: 2\r\n\r\n{{}}");
    let bad = [
        format!("{head}Content-Length: 2\r\nContent-Length: 40\r\n\r\n{{}}{smuggled}"),
        format!("{head}Content-Length: -1\r\n\r\n{{}}"),
        format!("{head}Content-Length: 2,40\r\n\r\n{{}}{smuggled}"),
        format!("{head}Transfer-Encoding: chunked, identity\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"),
        format!("{head}Content-Length : 2\r\n\r\n{{}}"),
        format!("{head}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{{}}"),
        format!("{head}Content-Length: 002\r\n\r\n{{}}"),
        format!(
            "{head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"
        ),
        format!("{head}Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"),
        format!("{head}Host: elsewhere\r\nContent-Length: 2\r\n\r\n{{}}"),
        smuggled.replace("\r\n", "\n"),
        smuggled.replace(&format!("Host: {address}\r\n"), ""),
        smuggled.replace("/check", "http://elsewhere/check"),
        "POST /check HTTP/1.1 extra\r\n\r\n".to_owned(),
        "\0\0\0\0\r\n\r\n".to_owned(),
    ];
    for request in bad {
        let answer = exchange(&address, &request);
        let answers = answer.matches("HTTP/1.1 ").count();
        assert_eq!(answers, 1, "{answers} answers to {request:?}: {answer}");
        assert!(answer.starts_with("HTTP/1.1 400 "), "{request:?} got {answer}");
        assert!(answer.contains("content-type: application/problem+json\r\n"), "{answer}");
        let policy = "\r\ncontent-security-policy: default-src 'none'; frame-ancestors 'none'\r\n";
        assert!(answer.contains(policy), "{answer}");
    }
    assert_nothing_was_taken(&tenant).await;
}

/// Returns everything that the server answers until it closes the connection.
fn exchange(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("the gate listens");
    stream.set_read_timeout(Some(seconds(10))).expect("a time-out can be set");
    stream.write_all(request.as_bytes()).expect("the gate reads");
    let mut answer = Vec::new();
    // A reset also ends the connection.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}
