//! A real HTTP server that receives webhooks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, mpsc};

/// A server that accepts every message.
pub(super) struct Receiver {
    port: u16,
    shared: Arc<Shared>,
    got: Mutex<mpsc::UnboundedReceiver<Got>>,
}

/// One message.
#[derive(Debug)]
pub(super) struct Got {
    headers: HeaderMap,
    pub(super) body: String,
}

struct Shared {
    status: AtomicU16,
    count: AtomicUsize,
    got: mpsc::UnboundedSender<Got>,
}

impl Receiver {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let (sender, got) = mpsc::unbounded_channel();
        let shared = Shared { status: 200.into(), count: 0.into(), got: sender };
        let shared = Arc::new(shared);
        let router = Router::new().route("/hook", post(take)).with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { port, shared, got: Mutex::new(got) }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }

    /// Sets the status of the answers from now on.
    pub(super) fn answer(&self, status: u16) {
        self.shared.status.store(status, Ordering::SeqCst);
    }

    /// The number of messages so far.
    pub(super) fn count(&self) -> usize {
        self.shared.count.load(Ordering::SeqCst)
    }

    /// Waits for the next message.
    pub(super) async fn next(&self) -> Got {
        let mut got = self.got.lock().await;
        let next = tokio::time::timeout(Duration::from_secs(10), got.recv()).await;
        next.expect("a message comes").expect("the server lives")
    }
}

impl Got {
    #[track_caller]
    pub(super) fn header(&self, name: &str) -> String {
        self.headers[name].to_str().expect("printable").to_owned()
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }
}

async fn take(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    body: String,
) -> (StatusCode, &'static str) {
    shared.count.fetch_add(1, Ordering::SeqCst);
    shared.got.send(Got { headers, body }).expect("the test listens");
    let status = shared.status.load(Ordering::SeqCst);
    (StatusCode::from_u16(status).expect("a status"), "thank you")
}
