//! Bad requests to `/defer` and `/deferred`.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Case, assert_no_fault, assert_nothing_was_taken, faults, text, watched};

/// The id of a webhook that no tenant has.
const TARGET: &str = "webhook_01M7Y73RFB8PD7BJ7QNA0B7ZZ9";
/// The id of a job that no tenant has.
const JOB: &str = "deferred_01M7Y73RFB8PD7BJ7QNA0B7ZZ9";

#[tokio::test]
async fn every_bad_job_gets_a_reason_and_is_not_stored() {
    let (tenant, rule) = watched().await;
    let mut cases = jobs();
    cases.extend(missing());
    cases.extend(surroundings());
    let faults = faults(&tenant, &rule, &cases, &tenant.key).await;
    assert_no_fault(&faults, cases.len(), 50);
    assert_nothing_was_taken(&tenant).await;
    let usage = tenant.admin(Method::GET, "/deferred", &Value::Null).await.expect(200);
    assert_eq!((usage.number("/waiting"), usage.number("/failed")), (0, 0));
}

fn valid() -> Value {
    json!({ "target": TARGET, "payload": {}, "idempotency_key": "k" })
}

fn job(name: &'static str, key: &str, value: impl Into<Value>) -> Case {
    let mut body = valid();
    body[key] = value.into();
    Case::post(name, "/defer", text(&body))
}

fn jobs() -> Vec<Case> {
    let many: serde_json::Map<_, _> = (0..33).map(|at| (format!("a{at}"), json!("x"))).collect();
    vec![
        job("unknown target", "target", TARGET).refuses("target"),
        job("target empty", "target", "").refuses("target"),
        job("target of another kind", "target", JOB).refuses("target"),
        job("target lower case", "target", TARGET.to_lowercase()).refuses("target"),
        job("target URL", "target", "https://example.com/").refuses("target"),
        job("target with a blank", "target", format!("{TARGET} ")).refuses("target"),
        job("target number", "target", 1).refuses("target"),
        job("target null", "target", Value::Null).refuses("target"),
        job("target list", "target", json!([TARGET])).refuses("target"),
        job("payload too long", "payload", "a".repeat(32 * 1024 - 1)).refuses("payload"),
        job("payload too long escaped", "payload", "\"".repeat(17_000)).refuses("payload"),
        job("payload object too long", "payload", json!({ "a": "a".repeat(32 * 1024) }))
            .refuses("payload"),
        job("not_after 0", "not_after_ms", 0).refuses("not_after_ms"),
        job("not_after 999", "not_after_ms", 999).refuses("not_after_ms"),
        job("not_after 86400001", "not_after_ms", 86_400_001).refuses("not_after_ms"),
        job("not_after -1", "not_after_ms", -1).refuses("not_after_ms"),
        job("not_after 1000.5", "not_after_ms", 1_000.5).refuses("not_after_ms"),
        job("not_after 2^64", "not_after_ms", 1.0e19).refuses("not_after_ms"),
        job("not_after text", "not_after_ms", "1000").refuses("not_after_ms"),
        job("not_after null", "not_after_ms", Value::Null).refuses("not_after_ms"),
        job("key empty", "idempotency_key", "").refuses("idempotency_key"),
        job("key too long", "idempotency_key", "k".repeat(129)).refuses("idempotency_key"),
        job("key number", "idempotency_key", 1).refuses("idempotency_key"),
        job("key null", "idempotency_key", Value::Null).refuses("idempotency_key"),
        job("cost 0", "cost", 0).refuses("cost"),
        job("cost too large", "cost", 1_000_000_001).refuses("cost"),
        job("cost 1.5", "cost", 1.5).refuses("cost"),
        job("cost text", "cost", "1").refuses("cost"),
        job("namespace empty", "namespace", "").refuses("namespace"),
        job("namespace upper case", "namespace", "Api").refuses("namespace"),
        job("namespace null", "namespace", Value::Null).refuses("namespace"),
        job("attributes list", "attributes", json!(["a"])).refuses("attributes"),
        job("33 attributes", "attributes", Value::Object(many)).refuses("attributes"),
        job("attribute number", "attributes", json!({ "user": 1 })).refuses("attributes.user"),
        job("attribute name", "attributes", json!({ "User": "a" })).refuses("attributes.User"),
        job("attribute with NUL", "attributes", json!({ "user": "a\0" }))
            .refuses("attributes.user"),
        job("mode", "mode", "peek").refuses("mode"),
        job("unknown field", "not_after", 1_000).refuses("not_after"),
        job("ttl", "ttl_ms", 1_000).refuses("ttl_ms"),
        job("tenant", "tenant", "other").refuses("tenant"),
        Case::post("field twice", "/defer", "{\"target\":\"a\",\"target\":\"b\"}")
            .is(422, "invalid"),
    ]
}

/// Bodies without a field that is needed.
fn missing() -> Vec<Case> {
    ["target", "payload", "idempotency_key"]
        .into_iter()
        .map(|field| {
            let mut body = valid();
            body.as_object_mut().expect("an object").remove(field);
            Case::post("a field is missing", "/defer", text(&body)).refuses(field)
        })
        .collect()
}

fn surroundings() -> Vec<Case> {
    let mut cases = vec![
        Case::post("empty body", "/defer", "").is(400, "malformed"),
        Case::post("truncated", "/defer", "{\"target\":").is(400, "malformed"),
        Case::post("array", "/defer", "[]").refuses("body"),
        Case::post("too large", "/defer", "a".repeat(70_000)).is(413, "body_too_large"),
        Case::post("not JSON", "/defer", "{}")
            .header("content-type", "text/plain")
            .is(415, "unsupported_media_type"),
        Case::post("without a key", "/defer", "{}").anonymous().is(401, "unauthenticated"),
        Case::post("GET", "/defer", "").method(Method::GET).is(405, "method_not_allowed"),
    ];
    for id in [JOB, "deferred_1", TARGET, "-", "%00"] {
        for method in [Method::GET, Method::DELETE] {
            let path = format!("/deferred/{id}");
            cases.push(Case::post("no such job", &path, "").method(method).is(404, "not_found"));
        }
    }
    cases
}
