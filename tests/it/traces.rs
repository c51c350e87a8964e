//! Traces: a gate continues those of callers with a valid key, and no others, and never waits for the receiver.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use weir_local::free_port;

use crate::harness::{
    GateSettings, ReceivedSpan, Reply, Server, SpanReceiver, Tenant, seconds, send, shared,
};

/// A gate that exports to an address, and a tenant with a limit of one for each user.
struct Fixture {
    tenant: Tenant<'static>,
    gate: Server,
}

impl Fixture {
    async fn start(endpoint: String) -> Self {
        let stack = shared().await;
        let tenant = Tenant::sign_up(stack).await;
        let env = vec![
            ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint),
            ("OTEL_BSP_SCHEDULE_DELAY", "50".to_owned()),
        ];
        let gate = stack.gate(GateSettings { env, ..GateSettings::default() });
        stack.until_ready(&gate).await;
        let limit =
            json!({ "algorithm": "sliding_window_log", "limit": 1, "window_ms": 86_400_000 });
        let rule = tenant
            .rule(&json!({ "name": "per-user", "count_by": ["user"], "limits": [limit] }))
            .await;
        tenant.settled_on(&gate, rule.version).await;
        Self { tenant, gate }
    }

    /// Sends a request with a trace of this number.
    async fn post(&self, path: &str, key: Option<&str>, trace: u8, body: &Value) -> Reply {
        let request = self.tenant.http.request(Method::POST, &format!("{}{path}", self.gate.url));
        let request = request.header("traceparent", traceparent(trace)).json(body);
        send(key.into_iter().fold(request, RequestBuilder::bearer_auth)).await
    }
}

fn traceparent(trace: u8) -> String {
    format!("00-{trace:032x}-00000000000000aa-01")
}

fn check(user: &str) -> Value {
    json!({ "attributes": { "user": user } })
}

/// The only span of a trace with this name.
fn only<'s>(spans: &'s [ReceivedSpan], trace: u8, name: &str) -> &'s ReceivedSpan {
    let trace = format!("{trace:032x}");
    let found: Vec<_> =
        spans.iter().filter(|span| span.trace == trace && span.name == name).collect();
    assert_eq!(found.len(), 1, "{name} of {trace} in {spans:?}");
    found[0]
}

#[tokio::test]
async fn requests_of_callers_with_a_valid_key_continue_their_trace() {
    let receiver = SpanReceiver::start();
    let fixture = Fixture::start(receiver.url()).await;
    let key = fixture.tenant.key.clone();
    fixture.post("/check", Some(&key), 1, &check("ada@example.com")).await.expect(200);
    fixture.post("/check", Some(&key), 2, &check("ada@example.com")).await.expect(429);
    let two = json!({ "checks": [check("bob"), check("eve")] });
    fixture.post("/check/batch", Some(&key), 3, &two).await.expect(200);
    let profile = json!({
        "name": "edge", "reads": "ext_authz", "attributes": { "user": { "from": "method" } },
    });
    let made = fixture.tenant.admin(Method::POST, "/profiles", &profile).await.expect(201);
    fixture.tenant.settled_on(&fixture.gate, made.number("/rulebook_version")).await;
    let url = format!("{}/authorize/edge/page", fixture.gate.url);
    let request = fixture.tenant.http.request(Method::GET, &url).header("x-weir-key", &key);
    send(request.header("traceparent", traceparent(4))).await.expect(200);

    let spans = receiver.until("four requests are traced", |spans| spans.len() >= 8).await;
    let names = ["POST /check", "POST /check", "POST /check/batch", "authorize"];
    for (trace, name) in (1..).zip(names) {
        let request = only(&spans, trace, name);
        assert_eq!(request.parent, "00000000000000aa");
        assert_eq!(request.service, "weir");
        assert_eq!(request.attribute("weir.namespace"), Some("default"));
        let allowed = request.attribute("weir.allowed");
        assert_eq!(allowed, Some(if trace == 2 { "false" } else { "true" }));
        assert!(request.attribute("weir.rulebook.version").is_some());
        assert_eq!(request.attribute("weir.degraded"), None);
        let values = request.attributes.iter().any(|(_, value)| value.contains("ada"));
        assert!(!values, "no values of attributes: {request:?}");
        let denied_by = request.attribute("weir.denied_by");
        assert_eq!(denied_by, (trace == 2).then_some("per-user"));
        let script = only(&spans, trace, "redis script");
        assert_eq!(script.parent, request.id);
        assert_eq!(script.links, std::slice::from_ref(&request.id));
    }
}

#[tokio::test]
async fn forged_sampling_without_a_key_creates_no_span() {
    let receiver = SpanReceiver::start();
    let fixture = Fixture::start(receiver.url()).await;
    fixture.post("/check", None, 1, &check("a")).await.expect(401);
    fixture.post("/check", Some("weir_of_another"), 2, &check("a")).await.expect(401);
    let url = format!("{}/authorize/edge/page", fixture.gate.url);
    let request = fixture.tenant.http.request(Method::GET, &url);
    send(request.header("traceparent", traceparent(3))).await.expect(503);
    let key = fixture.tenant.key.clone();
    fixture.post("/check", Some(&key), 4, &check("a")).await.expect(200);
    // Spans are exported in the order in which they end, so those of the refused requests would be there.
    let spans = receiver.until("the valid request is traced", |spans| spans.len() >= 2).await;
    let valid = format!("{:032x}", 4);
    assert!(spans.iter().all(|span| span.trace == valid), "{spans:?}");
}

#[tokio::test]
async fn absent_receiver_delays_neither_checks_nor_the_end_of_the_process() {
    let nowhere = format!("http://127.0.0.1:{}", free_port().expect("a port is free"));
    let fixture = Fixture::start(nowhere).await;
    let key = fixture.tenant.key.clone();
    for user in 0..200 {
        let reply = fixture
            .post("/check", Some(&key), 7, &check(&format!("user-{user}")))
            .await
            .expect(200);
        assert_eq!(reply.body["degraded"], Value::Null);
        assert!(reply.took < seconds(5), "{:?}", reply.took);
    }
    assert_eq!(fixture.gate.stop(), 0, "{}", fixture.gate.log());
}
