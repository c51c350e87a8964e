//! Every connection ends, regardless of what its client does or omits.

use super::*;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const EMPTY_SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
/// A frame with `INITIAL_WINDOW_SIZE` 0, with which the server can send no body.
const NO_WINDOW: &[u8] = &[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0];
const NONE_OPEN: &str = "weir_connections{listener=\"test\"} 0\n";

/// A frame that opens stream 1 with a request of one static method (2: GET, 3: POST) for a path.
fn request(method: u8, path: &str, ends: bool) -> Vec<u8> {
    let mut block = vec![0x80 | method, 0x86, 0x04, u8::try_from(path.len()).expect("short")];
    block.extend_from_slice(path.as_bytes());
    block.extend_from_slice(&[0x41, 1, b'a']);
    let length = u8::try_from(block.len()).expect("short");
    let mut frame = vec![0, 0, length, 1, if ends { 5 } else { 4 }, 0, 0, 0, 1];
    frame.extend(block);
    frame
}

#[tokio::test]
async fn http2_preface_is_answered_with_settings() {
    let running = start(quick()).await;
    let mut stream = TcpStream::connect(running.addr).await.expect("listening");
    stream.write_all(&[PREFACE, EMPTY_SETTINGS].concat()).await.expect("open");
    let mut header = [0; 9];
    stream.read_exact(&mut header).await.expect("a frame");
    assert_eq!(header[3], 4, "the first frame of the server is SETTINGS");
}

#[tokio::test]
async fn http2_connections_without_progress_are_closed() {
    let running = start(quick()).await;
    let cases = [
        // No request is sent.
        [PREFACE, EMPTY_SETTINGS].concat(),
        // The request is answered.
        [PREFACE, EMPTY_SETTINGS, &request(2, "/", true)].concat(),
        // The answer cannot be sent, because the client's window is empty.
        [PREFACE, NO_WINDOW, &request(2, "/", true)].concat(),
        [PREFACE, NO_WINDOW, &request(2, "/big", true)].concat(),
        // The body of the request never arrives.
        [PREFACE, EMPTY_SETTINGS, &request(3, "/refuse", false)].concat(),
    ];
    for sent in cases {
        let mut stream = TcpStream::connect(running.addr).await.expect("listening");
        stream.write_all(&sent).await.expect("open");
        // The client acknowledges nothing that the server sends.
        read_to_end(&mut stream).await;
        counted(&running.meters, NONE_OPEN).await;
    }
}

#[tokio::test]
async fn client_that_does_not_read_its_answers_is_cut() {
    let running = start(quick()).await;
    let mut stream = TcpStream::connect(running.addr).await.expect("listening");
    let request = "GET /big HTTP/1.1\r\nHost: a\r\n\r\n".repeat(8);
    stream.write_all(request.as_bytes()).await.expect("open");
    counted(&running.meters, "weir_connections_accepted_total{listener=\"test\"} 1\n").await;
    counted(&running.meters, NONE_OPEN).await;
    drop(stream);
}

#[tokio::test]
async fn slow_client_that_reads_gets_a_large_answer_whole() {
    let running = start(patient()).await;
    let request = b"GET /big HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let answer = exchange(running.addr, request).await;
    assert!(answer.ends_with(&"x".repeat(4 << 20)), "{} bytes", answer.len());
}

#[tokio::test]
async fn half_closed_client_gets_its_answer() {
    let running = start(patient()).await;
    let mut stream = TcpStream::connect(running.addr).await.expect("listening");
    stream.write_all(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").await.expect("open");
    stream.shutdown().await.expect("the sending side ends");
    running.finish.add_permits(1);
    let answer = read_to_end(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("done"), "{answer}");
}

#[tokio::test]
async fn old_connection_is_asked_to_close_with_its_next_answer() {
    let running = start(ServeSettings { connection_age_max: Duration::ZERO, ..patient() }).await;
    let answer = exchange(running.addr, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
}

#[tokio::test]
async fn floods_of_control_frames_end_the_connection() {
    let running = start(patient()).await;
    let frame = |kind: u8, payload: &[u8]| {
        let length = u8::try_from(payload.len()).expect("short");
        [&[0, 0, length, kind, 0, 0, 0, 0, 0], payload].concat()
    };
    let frames = [
        frame(6, &[7; 8]),             // PING
        frame(4, &[0, 3, 0, 0, 0, 9]), // SETTINGS
        frame(8, &[0, 0, 0, 1]),       // WINDOW_UPDATE of the connection
        frame(0xbe, b"a type of the future"),
    ];
    for (floods, flood) in frames.iter().enumerate() {
        let mut stream = TcpStream::connect(running.addr).await.expect("listening");
        stream.write_all(&[PREFACE, EMPTY_SETTINGS].concat()).await.expect("open");
        let (mut reader, mut writer) = stream.split();
        let flooding = async {
            // Writing fails when the server has ended the connection.
            while writer.write_all(&flood.repeat(100)).await.is_ok() {}
        };
        let reading = async { tokio::io::copy(&mut reader, &mut tokio::io::sink()).await };
        let both = async { tokio::join!(flooding, reading) };
        let ended = tokio::time::timeout(Duration::from_secs(20), both).await;
        assert!(ended.is_ok(), "frames of type {} for 20 s", flood[3]);
        let count = floods + 1;
        let line = format!(
            "weir_connections_closed_total{{listener=\"test\",reason=\"flood\"}} {count}\n"
        );
        counted(&running.meters, &line).await;
    }
}
