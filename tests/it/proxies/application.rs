//! The application behind the proxies: it answers every request with the headers that it got.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Map, Value};

#[derive(Debug)]
pub struct Application {
    pub port: u16,
    requests: Arc<AtomicUsize>,
}

impl Application {
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counted = Arc::clone(&counted);
                thread::spawn(move || answer(&stream, &counted));
            }
        });
        Self { port, requests }
    }

    /// The number of requests that the proxy forwarded.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

/// Answers one request and closes the connection.
fn answer(mut stream: &TcpStream, counted: &AtomicUsize) {
    let mut headers = Map::new();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    if lines.next().is_none() {
        return;
    }
    for line in lines.take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        headers.insert(name.to_ascii_lowercase(), value.trim().into());
    }
    counted.fetch_add(1, Ordering::SeqCst);
    let body = Value::Object(headers).to_string();
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    drop(stream.write_all(format!("{head}{body}").as_bytes()));
}
