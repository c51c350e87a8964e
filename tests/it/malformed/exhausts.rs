//! Bad requests to `/exhaust`.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Case, assert_no_fault, assert_nothing_was_taken, faults, text, watched};

#[tokio::test]
async fn every_bad_exhaust_gets_a_reason_and_exhausts_nothing() {
    let (tenant, rule) = watched().await;
    let (_, key, version) = tenant.make_key(&["exhaust"]).await;
    tenant.settled(version).await;
    let cases: Vec<_> = times().into_iter().chain(requests()).chain(surroundings()).collect();
    let mut faults = faults(&tenant, &rule, &cases, &key).await;
    for (path, token) in [("/exhaust", &tenant.key), ("/check", &key)] {
        let case = Case::post("another scope", path, text(&json!({ "for_ms": 1 })));
        let reply = case.send(&tenant, &rule, &tenant.stack.gates[0].url, token).await;
        faults.extend(case.is(403, "forbidden").fault(&reply));
    }
    assert_no_fault(&faults, cases.len(), 40);
    assert_nothing_was_taken(&tenant).await;
}

fn exhaust(name: &'static str, key: &str, value: impl Into<Value>) -> Case {
    let mut body = json!({ "for_ms": 1_000 });
    body[key] = value.into();
    Case::post(name, "/exhaust", text(&body))
}

fn times() -> Vec<Case> {
    let time = |name, value: Value| exhaust(name, "for_ms", value).refuses("for_ms");
    vec![
        Case::post("no time", "/exhaust", "{}").refuses("for_ms"),
        time("0", json!(0)),
        time("-1", json!(-1)),
        time("600001", json!(600_001)),
        time("2^53", json!(9_007_199_254_740_992_u64)),
        time("2^64", json!(18_446_744_073_709_551_615_u64)),
        time("1e300", json!(1e300)),
        time("1000.5", json!(1_000.5)),
        time("text", json!("1000")),
        time("empty text", json!("")),
        time("true", json!(true)),
        time("null", Value::Null),
        time("list", json!([1_000])),
        time("object", json!({ "ms": 1_000 })),
    ]
}

fn requests() -> Vec<Case> {
    let many: serde_json::Map<_, _> = (0..33).map(|at| (format!("a{at}"), json!("x"))).collect();
    let user = |name, value: Value| exhaust(name, "attributes", json!({ "user": value }));
    vec![
        exhaust("namespace empty", "namespace", "").refuses("namespace"),
        exhaust("namespace upper case", "namespace", "Api").refuses("namespace"),
        exhaust("namespace with a blank", "namespace", "a b").refuses("namespace"),
        exhaust("namespace too long", "namespace", "a".repeat(64)).refuses("namespace"),
        exhaust("namespace number", "namespace", 1).refuses("namespace"),
        exhaust("namespace null", "namespace", Value::Null).refuses("namespace"),
        exhaust("attributes list", "attributes", json!(["a"])).refuses("attributes"),
        exhaust("attributes text", "attributes", "user=1").refuses("attributes"),
        exhaust("attributes null", "attributes", Value::Null).refuses("attributes"),
        exhaust("33 attributes", "attributes", Value::Object(many)).refuses("attributes"),
        exhaust("attribute name", "attributes", json!({ "User": "a" })).refuses("attributes.User"),
        user("attribute number", json!(1)).refuses("attributes.user"),
        user("attribute null", Value::Null).refuses("attributes.user"),
        user("attribute too long", json!("a".repeat(513))).refuses("attributes.user"),
        user("attribute with NUL", json!("a\0")).refuses("attributes.user"),
        user("attribute with a line break", json!("a\nb")).refuses("attributes.user"),
        exhaust("a cost", "cost", 1).refuses("cost"),
        exhaust("a mode", "mode", "peek").refuses("mode"),
        exhaust("a time to live", "ttl_ms", 1_000).refuses("ttl_ms"),
        exhaust("an idempotency key", "idempotency_key", "k").refuses("idempotency_key"),
        exhaust("a tenant", "tenant", "other").refuses("tenant"),
        Case::post("field twice", "/exhaust", "{\"for_ms\":1000,\"for_ms\":2000}")
            .is(422, "invalid"),
        Case::post(
            "attribute twice",
            "/exhaust",
            "{\"for_ms\":1,\"attributes\":{\"a\":\"1\",\"a\":\"2\"}}",
        )
        .is(422, "invalid"),
    ]
}

fn surroundings() -> Vec<Case> {
    let post = |name, body: &str| Case::post(name, "/exhaust", body);
    vec![
        post("empty body", "").is(400, "malformed"),
        post("truncated", "{\"for_ms\":").is(400, "malformed"),
        post("array", "[]").refuses("body"),
        post("null", "null").refuses("body"),
        post("number", "1000").refuses("body"),
        post("not JSON", "{}")
            .header("content-type", "text/plain")
            .is(415, "unsupported_media_type"),
        post("without a key", "{}").anonymous().is(401, "unauthenticated"),
        post("GET", "").method(Method::GET).is(405, "method_not_allowed"),
        post("PUT", "{}").method(Method::PUT).is(405, "method_not_allowed"),
    ]
}
