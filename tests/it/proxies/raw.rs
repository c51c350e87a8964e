//! Requests byte by byte: a client of HTTP would correct them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::Value;

use super::Fixture;
use crate::harness::seconds;

/// The answer to a request.
#[derive(Debug)]
pub struct RawReply {
    /// 0 if the connection was closed without an answer.
    pub status: u16,
    /// The target that the application got. `None` if the request did not reach it.
    pub target: Option<String>,
    text: String,
}

impl Fixture {
    /// Sends a request line and headers, without the last empty line, and reads until the proxy closes the connection.
    pub fn send_raw(&self, head: &[u8]) -> RawReply {
        let address = self.proxy.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).expect("the proxy listens");
        stream.set_read_timeout(Some(seconds(60))).expect("a timeout");
        // A proxy that refuses a request can close the connection before it has read everything.
        drop(stream.write_all(&[head, b"Connection: close\r\n\r\n"].concat()));
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer));
        let text = String::from_utf8_lossy(&answer).into_owned();
        let status = text.get(9..12).and_then(|status| status.parse().ok()).unwrap_or(0);
        let body = text.rsplit("\r\n").find(|line| line.starts_with('{'));
        let body: Value = body.and_then(|body| serde_json::from_str(body).ok()).unwrap_or_default();
        let target = body[":target"].as_str().map(ToOwned::to_owned);
        RawReply { status, target, text }
    }
}

impl RawReply {
    /// Whether the headers have this text.
    pub fn has(&self, text: &str) -> bool {
        self.text.to_ascii_lowercase().contains(text)
    }
}
