//! The layer, behind a real server of axum.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::RawQuery;
use axum::http::{Request, StatusCode};
use axum::routing::get;
use weir_ratelimit::axum::{ip, route};
use weir_ratelimit::{AddressOptions, Attributes, CheckRequest, Limits, OnError, Weir, WeirLayer};

use crate::support::{GENEROUS, RUN, client, closed_port, of, of_gate};

#[tokio::test(flavor = "multi_thread")]
async fn layer_passes_refuses_leaves_failures_to_on_error_and_refunds() {
    let gate = client(of_gate(OnError::Deny).cache_size(0));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let limited = limits(move |request| {
        let address = ip(request, AddressOptions::default());
        noted.lock().expect("no panic").push((address.expect("a peer"), route(request)));
        Some(window("limited"))
    });
    let long = limits(|request| {
        let user = request.headers()["x-user"].to_str().expect("printable");
        Some(window(&format!("{user}\u{85}")))
    });
    let login = limits(|_| Some(window("login"))).refund_when(|status| status.is_success());
    let router = Router::new()
        .route("/limited/{id}", endpoint(&gate, limited))
        .route("/long", endpoint(&gate, long))
        .route("/login", endpoint(&gate, login))
        .route("/skipped", endpoint(&gate, limits(|_| None)))
        .route("/wrong", endpoint(&gate, Limits::new("No Such", |_| Ok(Some(Attributes::new())))))
        .route(
            "/denied",
            endpoint(
                &client(of(closed_port(), OnError::Deny)),
                limits(|_| Some(Attributes::new())),
            ),
        )
        .route(
            "/allowed",
            endpoint(
                &client(of(closed_port(), OnError::Allow)),
                limits(|_| Some(Attributes::new())),
            ),
        );
    let server = Server::start(router).await;

    let first = server.get("/limited/7").await;
    assert_eq!(first.status(), StatusCode::OK);
    assert_eq!(first.headers()["x-ratelimit-remaining"], "1");
    assert_eq!(first.headers()["ratelimit-policy"], "\"window\";q=2;w=3600");
    assert_eq!(first.text().await.expect("a body"), "fine");
    server.expect("/limited/8", &[200]).await;
    let refused = server.get("/limited/9").await;
    assert_eq!(refused.headers()["content-type"], "application/problem+json");
    let retry: u64 =
        refused.headers()["retry-after"].to_str().expect("printable").parse().expect("a number");
    assert!(refused.status() == StatusCode::TOO_MANY_REQUESTS && retry > 3000, "{retry}");
    assert_eq!(code(refused).await, "rate_limited");
    let address = ("127.0.0.1".to_owned(), "/limited/{id}".to_owned());
    assert_eq!(*seen.lock().expect("no panic"), vec![address; 3]);

    let unavailable = server.get("/denied").await;
    assert_eq!(unavailable.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(unavailable.headers()["retry-after"], "1");
    assert_eq!(code(unavailable).await, "rate_limit_unavailable");
    server.expect("/allowed", &[200, 200, 200]).await;
    server.expect("/skipped", &[200, 200, 200]).await;
    server.expect("/long", &[200, 200, 429]).await;
    server.expect("/wrong", &[500]).await;

    // Only the failures count: each success returns its unit, which a later peek shows.
    server.expect("/login?ok", &[200]).await;
    until_refunded(&gate, &CheckRequest::new("conformance").attributes(window("login"))).await;
    server.expect("/login?wrong", &[401, 401, 429]).await;
}

fn limits(
    attributes: impl Fn(&Request<Body>) -> Option<Attributes> + Send + Sync + 'static,
) -> Limits<Body> {
    let failed = |error: &dyn std::error::Error| panic!("the middleware failed: {error}");
    Limits::new("conformance", move |request| Ok(attributes(request)))
        .on_check_error(failed)
        .on_refund_error(failed)
}

fn window(user: &str) -> Attributes {
    let values = [("suite", "window".to_owned()), ("user", format!("{user}-{}", *RUN))];
    values.map(|(name, value)| (name.to_owned(), value)).into()
}

fn endpoint(weir: &Weir, limits: Limits<Body>) -> axum::routing::MethodRouter {
    let handler = |RawQuery(query): RawQuery| async move {
        let status = if query.as_deref() == Some("wrong") {
            StatusCode::UNAUTHORIZED
        } else {
            StatusCode::OK
        };
        (status, "fine")
    };
    get(handler).layer(WeirLayer::new(weir.clone(), limits))
}

async fn until_refunded(gate: &Weir, request: &CheckRequest) {
    let deadline = Instant::now() + GENEROUS;
    while gate.peek(request).await.expect("an answer").remaining != Some(1) {
        assert!(Instant::now() < deadline, "never refunded");
    }
}

async fn code(response: reqwest::Response) -> String {
    let body: serde_json::Value = response.json().await.expect("JSON");
    body["code"].as_str().expect("a code").to_owned()
}

struct Server {
    url: String,
    http: reqwest::Client,
}

impl Server {
    async fn start(router: Router) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, service).await });
        Self { url, http: reqwest::Client::builder().no_proxy().build().expect("a client") }
    }

    /// Asks as an attacker would: with a forwarded address, and with a value that a gate refuses.
    async fn get(&self, path: &str) -> reqwest::Response {
        let request =
            self.http.get(format!("{}{path}", self.url)).header("x-forwarded-for", "1.1.1.1");
        request
            .header("x-user", format!("long{}", "x".repeat(600)))
            .send()
            .await
            .expect("a response")
    }

    async fn expect(&self, path: &str, statuses: &[u16]) {
        for (nth, status) in statuses.iter().enumerate() {
            assert_eq!(self.get(path).await.status().as_u16(), *status, "{path}, request {nth}");
        }
    }
}
