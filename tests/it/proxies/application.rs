//! The application behind the proxies: it answers every request with the headers that it got, and with its target as `:target`. It answers `/chat` with a number of
//! tokens, and `/report` when the test permits.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use serde_json::{Map, Value};

#[derive(Debug)]
pub struct Application {
    pub port: u16,
    requests: Arc<AtomicUsize>,
    reports: Arc<Reports>,
}

/// The requests to `/report` that are not answered.
#[derive(Debug, Default)]
struct Reports {
    state: Mutex<ReportState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct ReportState {
    waiting: usize,
    most: usize,
    permitted: usize,
}

impl Application {
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let requests = Arc::new(AtomicUsize::new(0));
        let reports = Arc::new(Reports::default());
        let counted = (Arc::clone(&requests), Arc::clone(&reports));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (requests, reports) = counted.clone();
                thread::spawn(move || answer(&stream, &requests, &reports));
            }
        });
        Self { port, requests, reports }
    }

    /// The number of requests to `/report` that wait, and the most that ever waited at the same time.
    pub fn reports(&self) -> (usize, usize) {
        let state = self.reports.state.lock().expect("no thread panicked");
        (state.waiting, state.most)
    }

    /// Answers this number of requests to `/report`.
    pub fn permit_reports(&self, count: usize) {
        self.reports.state.lock().expect("no thread panicked").permitted += count;
        self.reports.changed.notify_all();
    }

    /// The number of requests that the proxy forwarded.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

/// Answers one request and closes the connection.
fn answer(mut stream: &TcpStream, counted: &AtomicUsize, reports: &Reports) {
    let mut headers = Map::new();
    let lines = BufReader::new(stream).split(b'\n').map_while(Result::ok);
    let mut lines = lines.map(|line| String::from_utf8_lossy(&line).trim_end().to_owned());
    let Some(first) = lines.next() else { return };
    headers.insert(":target".to_owned(), first.split(' ').nth(1).unwrap_or_default().into());
    for line in lines.take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        headers.insert(name.to_ascii_lowercase(), value.trim().into());
    }
    counted.fetch_add(1, Ordering::SeqCst);
    if first.starts_with("GET /report") {
        reports.wait();
    }
    let tokens = if first.starts_with("GET /chat") { "x-tokens: 17\r\n" } else { "" };
    let body = Value::Object(headers).to_string();
    let length = body.len();
    let head =
        format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n{tokens}connection: close\r\n\r\n");
    drop(stream.write_all(format!("{head}{body}").as_bytes()));
}

impl Reports {
    fn wait(&self) {
        let mut state = self.state.lock().expect("no thread panicked");
        state.waiting += 1;
        state.most = state.most.max(state.waiting);
        while state.permitted == 0 {
            state = self.changed.wait(state).expect("no thread panicked");
        }
        state.permitted -= 1;
        state.waiting -= 1;
    }
}
