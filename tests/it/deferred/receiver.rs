//! A receiver of deferred jobs.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::Value;

/// Records the messages that arrive, in their order.
pub struct Receiver {
    pub url: String,
    shared: Arc<Mutex<Received>>,
}

/// The messages so far, and the treatment of the next ones.
#[derive(Default)]
pub struct Received {
    pub messages: Vec<Message>,
    pub mode: Mode,
    held: Vec<TcpStream>,
}

/// The treatment of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// They are accepted.
    #[default]
    Accept,
    /// They are refused with 500.
    Refuse,
    /// They get no answer, unless [`Receiver::release`] gives it.
    Hold,
}

/// A message that arrived.
#[derive(Debug, Clone)]
pub struct Message {
    pub at: Instant,
    pub id: String,
    pub signature: String,
    pub body: Value,
}

impl Receiver {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/", listener.local_addr().expect("it has an address"));
        let shared = Arc::<Mutex<Received>>::default();
        let receiving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let Some(message) = read(&mut stream) else { continue };
                let mut received = receiving.lock().unwrap_or_else(PoisonError::into_inner);
                received.messages.push(message);
                let status = match received.mode {
                    Mode::Accept => "200 OK",
                    Mode::Refuse => "500 Broken",
                    Mode::Hold => {
                        received.held.push(stream);
                        continue;
                    }
                };
                answer(&mut stream, status);
            }
        });
        Self { url, shared }
    }

    pub fn received(&self) -> MutexGuard<'_, Received> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn count(&self) -> usize {
        self.received().messages.len()
    }

    /// Accepts the messages that are held, and all later ones.
    pub fn release(&self) {
        let mut received = self.received();
        received.mode = Mode::Accept;
        for mut stream in std::mem::take(&mut received.held) {
            answer(&mut stream, "200 OK");
        }
    }
}

fn answer(stream: &mut TcpStream, status: &str) {
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    // The sender has possibly been killed, or stopped waiting.
    _ = stream.write_all(answer.as_bytes());
}

/// Reads a request. `None` if its sender left.
fn read(stream: &mut TcpStream) -> Option<Message> {
    let (mut text, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let length = stream.read(&mut part).ok().filter(|length| *length > 0)?;
        text.extend_from_slice(&part[..length]);
        let read = String::from_utf8_lossy(&text);
        let Some((head, body)) = read.split_once("\r\n\r\n") else { continue };
        let header = |name: &str| {
            let found = head.lines().find_map(|line| line.strip_prefix(name));
            found.map(|value| value.trim().to_owned())
        };
        let length: usize = header("content-length: ")?.parse().ok()?;
        if body.len() < length {
            continue;
        }
        return Some(Message {
            at: Instant::now(),
            id: header("webhook-id: ")?,
            signature: header("webhook-signature: ")?,
            body: serde_json::from_str(body).ok()?,
        });
    }
}
