//! The middleware cases of conformance.json, with the layer behind a real server of axum.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use axum::routing::get;
use serde_json::{Value, json};
use tower_http::catch_panic::CatchPanicLayer;
use weir_ratelimit::{
    Answer, Attributes, CheckRequest, Degraded, Limits, OnError, Weir, WeirLayer,
};

use crate::support::{GENEROUS, RUN, client, closed_port, middleware_cases, of, of_gate, stub};

#[tokio::test(flavor = "multi_thread")]
async fn layer_behaves_as_the_middleware_of_every_client() {
    for (position, case) in middleware_cases() {
        let name = case["name"].as_str().expect("a name");
        Case { spec: &case, name, run: format!("{}-axum", *RUN) }.check(position).await;
    }
}

struct Case<'a> {
    spec: &'a Value,
    name: &'a str,
    run: String,
}

/// The work of the handler, and what it saw.
#[derive(Default)]
struct Handler {
    plan: Mutex<Value>,
    handled: AtomicBool,
    answer: Mutex<Option<Answer>>,
    renewals: Option<String>,
}

type Recorded = Arc<Mutex<Vec<Value>>>;

impl Case<'_> {
    async fn check(&self, position: usize) {
        let url = match self.spec["server"].as_str() {
            Some("stub") => stub(position, &self.run),
            Some("closed") => closed_port(),
            _ => crate::support::needed("WEIR_GATE_URL"),
        };
        let weir = client(of(url.clone(), OnError::Deny));
        let requests_of = format!("{url}/requests");
        let is_stub = self.spec["server"] == "stub";
        let handler = Arc::new(Handler {
            renewals: is_stub.then(|| requests_of.clone()),
            ..Handler::default()
        });
        let (decisions, statuses) = (Recorded::default(), Recorded::default());
        let address = serve(self.router(&weir, &handler, &decisions, &statuses)).await;
        // Each request has a connection of its own, so that a former one cannot end late.
        let http =
            reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).timeout(GENEROUS);
        let http = http.build().expect("a client");
        for (nth, request) in self.spec["requests"].as_array().expect("requests").iter().enumerate()
        {
            let place = format!("{}, request {nth}", self.name);
            *handler.plan.lock().expect("no panic") = request["handler"].clone();
            handler.handled.store(false, Ordering::SeqCst);
            *handler.answer.lock().expect("no panic") = None;
            let response = http.get(&address).send();
            if request["handler"]["leaves"] == true {
                tokio::select! {
                    _ = response => panic!("{place}: a response"),
                    () = until(&place, async || handler.answer.lock().expect("no panic").is_some()) => {}
                }
            } else {
                let response = response.await.expect("a response");
                compare_response(response, &request["expect"], &place).await;
            }
            handler.compare(&request["expect"], &place);
            if let Some(after) = request.get("after") {
                self.until(after, &place).await;
            }
        }
        if let Some(expected) = self.spec.get("decisions") {
            let found = Value::from(decisions.lock().expect("no panic").clone());
            assert_eq!(&found, expected, "{}", self.name);
        }
        if let Some(expected) = self.spec.get("refund_statuses") {
            let found = Value::from(statuses.lock().expect("no panic").clone());
            assert_eq!(&found, expected, "{}", self.name);
        }
        if let Some(last) = self.spec.get("last") {
            until(self.name, async || {
                let requests = json_of(&requests_of).await;
                let Some(request) = requests.as_array().and_then(|all| all.last()) else {
                    return false;
                };
                request["path"] == last["path"] && request["body"]["lease"] == last["lease"]
            })
            .await;
        }
    }

    fn router(
        &self,
        weir: &Weir,
        handler: &Arc<Handler>,
        decisions: &Recorded,
        statuses: &Recorded,
    ) -> Router {
        let work = Arc::clone(handler);
        let mut router = Router::new()
            .route("/", get(move |answer: Option<Answer>| work.clone().handle(answer)));
        for limit in self.spec["limits"].as_array().expect("limits").iter().rev() {
            let limits = self.limits(limit, decisions, statuses);
            router = router.layer(WeirLayer::new(weir.clone(), limits));
        }
        router.layer(CatchPanicLayer::new())
    }

    fn limits(&self, limit: &Value, decisions: &Recorded, statuses: &Recorded) -> Limits<Body> {
        let attributes = self.attributes(limit);
        let seen = Arc::clone(decisions);
        let mut limits = Limits::new("conformance", move |_| Ok(Some(attributes.clone())))
            .on_check_error(|error| panic!("the check failed: {error}"))
            .on_decision(move |answer, _| {
                let degraded = answer.degraded.map(|degraded| {
                    assert_eq!(degraded, Degraded::Client, "no case degrades a gate");
                    "client"
                });
                let decision = json!({ "allowed": answer.allowed, "degraded": degraded });
                seen.lock().expect("no panic").push(decision);
            });
        if let Some(cost) = limit["cost"].as_u64() {
            limits = limits.cost(move |_| cost);
        }
        if let Some(with_headers) = limit["headers"].as_bool() {
            limits = limits.headers(with_headers);
        }
        if let Some(skip) = limit["skip"].as_bool() {
            limits = limits.skip(move |_| skip);
        }
        if let Some(least) = limit["refund_from_status"].as_u64() {
            let seen = Arc::clone(statuses);
            limits = limits.refund_when(move |status| {
                seen.lock().expect("no panic").push(json!(status.as_u16()));
                u64::from(status.as_u16()) >= least
            });
        }
        if let Some(own) = limit.get("on_refused").cloned() {
            limits = limits.on_refused(move |_, _| {
                response(&own).map(|_| own["body"].as_str().expect("a body").as_bytes().to_vec())
            });
        }
        limits
    }

    fn attributes(&self, step: &Value) -> Attributes {
        let pairs = step["attributes"].as_object().expect("attributes").iter();
        let value = |value: &Value| value.as_str().expect("a text").replace("$RUN", &self.run);
        pairs.map(|(name, text)| (name.clone(), value(text))).collect()
    }

    /// Peeks until the answer is the expected one.
    async fn until(&self, step: &Value, place: &str) {
        let weir = client(of_gate(OnError::Deny).cache_size(0));
        let check = CheckRequest::new("conformance").attributes(self.attributes(step));
        let expected = &step["expect"];
        until(place, async || {
            let answer = weir.peek(&check).await.expect("an answer");
            expected["allowed"].as_bool().is_none_or(|allowed| allowed == answer.allowed)
                && expected["remaining"].as_u64().is_none_or(|left| Some(left) == answer.remaining)
        })
        .await;
    }
}

impl Handler {
    async fn handle(self: Arc<Self>, answer: Option<Answer>) -> Response<Body> {
        self.handled.store(true, Ordering::SeqCst);
        *self.answer.lock().expect("no panic") = answer;
        let plan = self.plan.lock().expect("no panic").clone();
        let deadline = Instant::now() + GENEROUS;
        if let (Some(url), Some(wanted)) = (&self.renewals, plan["until_renewals"].as_u64()) {
            while renewals(&json_of(url).await) < wanted {
                assert!(Instant::now() < deadline, "never renewed");
            }
        }
        if plan["leaves"] == true {
            std::future::pending::<()>().await;
        }
        assert!(plan["fails"] != true, "the handler of a test fails");
        response(&plan)
    }

    fn compare(&self, expected: &Value, place: &str) {
        if let Some(handled) = expected["handled"].as_bool() {
            assert_eq!(self.handled.load(Ordering::SeqCst), handled, "{place}");
        }
        if let Some(answer) = expected.get("answer") {
            let found = self.answer.lock().expect("no panic").clone();
            assert_eq!(found.is_none(), answer.is_null(), "{place}");
            for (name, value) in answer.as_object().into_iter().flatten() {
                let found = found.as_ref().expect("an answer");
                let found = match name.as_str() {
                    "allowed" => json!(found.allowed),
                    "limit" => json!(found.limit),
                    "remaining" => json!(found.remaining),
                    "leases" => json!(found.leases.len()),
                    other => panic!("{place}: an unknown field {other}"),
                };
                assert_eq!(&found, value, "{place}: {name}");
            }
        }
    }
}

fn renewals(requests: &Value) -> u64 {
    let all = requests.as_array().expect("requests").iter();
    all.map(|one| u64::from(one["path"] == "/renew")).sum()
}

/// A response with the status and the headers of a plan.
fn response(plan: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from("fine"));
    let status = plan["status"].as_u64().unwrap_or(200);
    let status = u16::try_from(status).ok().and_then(|code| StatusCode::from_u16(code).ok());
    *response.status_mut() = status.expect("a status");
    for (name, value) in plan["headers"].as_object().into_iter().flatten() {
        let name = HeaderName::try_from(name).expect("a name");
        let value = HeaderValue::try_from(value.as_str().expect("a text")).expect("a value");
        response.headers_mut().insert(name, value);
    }
    response
}

async fn compare_response(response: reqwest::Response, expected: &Value, place: &str) {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let body = response.text().await.expect("a body");
    assert_eq!(Some(u64::from(status)), expected["status"].as_u64(), "{place}: {body}");
    if let Some(text) = expected["body"].as_str() {
        assert_eq!(body, text, "{place}");
    }
    if let Some(code) = expected["code"].as_str() {
        let problem: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!(problem["code"], code, "{place}");
    }
    for (name, value) in expected["headers"].as_object().into_iter().flatten() {
        compare_header(&headers, name, value, place);
    }
}

fn compare_header(headers: &HeaderMap, name: &str, expected: &Value, place: &str) {
    let found: Vec<&str> =
        headers.get_all(name).iter().map(|value| value.to_str().expect("printable")).collect();
    let place = format!("{place}: {name} of {headers:?}");
    if expected.is_null() {
        assert!(found.is_empty(), "{place}");
        return;
    }
    let [value] = found.as_slice() else { panic!("not once: {place}") };
    match expected {
        Value::Array(begins) => {
            let items: Vec<&str> = value.split(", ").collect();
            assert_eq!(items.len(), begins.len(), "{place}");
            for (item, begin) in items.iter().zip(begins) {
                assert!(item.starts_with(begin.as_str().expect("a text")), "{place}");
            }
        }
        Value::Object(range) => {
            let number: u64 = value.parse().expect("a number");
            let bound = |name: &str| range[name].as_u64().expect("a number");
            assert!((bound("min")..=bound("max")).contains(&number), "{place}");
        }
        text => assert_eq!(*value, text.as_str().expect("a text"), "{place}"),
    }
}

async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await });
    url
}

async fn json_of(url: &str) -> Value {
    let http = reqwest::Client::builder().no_proxy().build().expect("a client");
    http.get(url).send().await.expect("an answer").json().await.expect("JSON")
}

async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + GENEROUS;
    while !condition().await {
        assert!(Instant::now() < deadline, "never: {what}");
        tokio::task::yield_now().await;
    }
}
