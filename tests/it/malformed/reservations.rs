//! Bad requests to `/reserve`, `/commit` and `/cancel`.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Case, assert_no_fault, assert_nothing_was_taken, faults, text, watched};

/// A reservation in `default` that no limit counted.
const RESERVATION: &str =
    "resv_AQAHBwcHBwcHBwcHBwcHBwcHAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB2RlZmF1bHQ";

#[tokio::test]
async fn every_bad_reservation_gets_a_reason_and_holds_nothing() {
    let (tenant, rule) = watched().await;
    let mut cases = reserves();
    cases.extend(reservations());
    cases.extend(commits());
    cases.extend(surroundings());
    let faults = faults(&tenant, &rule, &cases, &tenant.key).await;
    assert_no_fault(&faults, cases.len(), 60);
    assert_nothing_was_taken(&tenant).await;
}

fn reserve(name: &'static str, key: &str, value: impl Into<Value>) -> Case {
    Case::post(name, "/reserve", text(&json!({ key: value.into() })))
}

fn commit(name: &'static str, key: &str, value: impl Into<Value>) -> Case {
    let mut body = json!({ "reservation": RESERVATION, "cost": 1 });
    body[key] = value.into();
    Case::post(name, "/commit", text(&body))
}

fn reserves() -> Vec<Case> {
    let many: serde_json::Map<_, _> = (0..33).map(|at| (format!("a{at}"), json!("x"))).collect();
    vec![
        reserve("ttl 0", "ttl_ms", 0).refuses("ttl_ms"),
        reserve("ttl 999", "ttl_ms", 999).refuses("ttl_ms"),
        reserve("ttl 600001", "ttl_ms", 600_001).refuses("ttl_ms"),
        reserve("ttl -1", "ttl_ms", -1).refuses("ttl_ms"),
        reserve("ttl 2^64", "ttl_ms", 18_446_744_073_709_551_615_u64).refuses("ttl_ms"),
        reserve("ttl 1000.5", "ttl_ms", 1_000.5).refuses("ttl_ms"),
        reserve("ttl as text", "ttl_ms", "60000").refuses("ttl_ms"),
        reserve("ttl null", "ttl_ms", Value::Null).refuses("ttl_ms"),
        reserve("at_most 1", "at_most", 1).refuses("at_most"),
        reserve("at_most as text", "at_most", "true").refuses("at_most"),
        reserve("at_most null", "at_most", Value::Null).refuses("at_most"),
        reserve("cost 0", "cost", 0).refuses("cost"),
        reserve("cost -1", "cost", -1).refuses("cost"),
        reserve("cost too large", "cost", 1_000_000_001).refuses("cost"),
        reserve("cost 1.5", "cost", 1.5).refuses("cost"),
        reserve("cost as text", "cost", "1").refuses("cost"),
        reserve("mode", "mode", "consume").refuses("mode"),
        reserve("unknown field", "ttl", 60_000).refuses("ttl"),
        reserve("a reservation", "reservation", RESERVATION).refuses("reservation"),
        reserve("namespace empty", "namespace", "").refuses("namespace"),
        reserve("namespace upper case", "namespace", "Api").refuses("namespace"),
        reserve("namespace null", "namespace", Value::Null).refuses("namespace"),
        reserve("attributes list", "attributes", json!(["a"])).refuses("attributes"),
        reserve("attributes null", "attributes", Value::Null).refuses("attributes"),
        reserve("33 attributes", "attributes", Value::Object(many)).refuses("attributes"),
        reserve("attribute number", "attributes", json!({ "user": 1 })).refuses("attributes.user"),
        reserve("attribute name", "attributes", json!({ "User": "a" })).refuses("attributes.User"),
        reserve("attribute too long", "attributes", json!({ "user": "a".repeat(513) }))
            .refuses("attributes.user"),
        reserve("attribute with NUL", "attributes", json!({ "user": "a\0" }))
            .refuses("attributes.user"),
        reserve("key empty", "idempotency_key", "").refuses("idempotency_key"),
        reserve("key too long", "idempotency_key", "k".repeat(129)).refuses("idempotency_key"),
        Case::post("field twice", "/reserve", "{\"ttl_ms\":1000,\"ttl_ms\":2000}")
            .is(422, "invalid"),
        Case::post("attribute twice", "/reserve", "{\"attributes\":{\"a\":\"1\",\"a\":\"2\"}}")
            .is(422, "invalid"),
    ]
}

/// Texts that are no reservations, and one of which nothing is open.
fn reservations() -> Vec<Case> {
    let cut = &RESERVATION[..RESERVATION.len() - 4];
    let swapped = RESERVATION.replace("resv_", "RESV_");
    let unprefixed = RESERVATION.trim_start_matches("resv_");
    let refused = |name, value: &str| {
        let cancel = Case::post(name, "/cancel", text(&json!({ "reservation": value })));
        [commit(name, "reservation", value), cancel].map(|case| case.refuses("reservation"))
    };
    let mut cases = Vec::new();
    for (name, value) in [
        ("empty", ""),
        ("prefix alone", "resv_"),
        ("cut short", cut),
        ("other prefix", &swapped),
        ("no prefix", unprefixed),
        ("not base64", "resv_****"),
        ("padded", &format!("{RESERVATION}==")),
        ("with a blank", &format!("{RESERVATION} ")),
        ("of another kind", "rule_01M7Y73RFB8PD7BJ7QNA0B7ZZ9"),
        ("too long", &format!("resv_{}", "A".repeat(5_000))),
        ("with NUL", "resv_\0"),
    ] {
        cases.extend(refused(name, value));
    }
    cases
}

fn commits() -> Vec<Case> {
    let post = |name, path: &str, body: Value| Case::post(name, path, text(&body));
    vec![
        commit("cost -1", "cost", -1).refuses("cost"),
        commit("cost too large", "cost", 1_000_000_001).refuses("cost"),
        commit("cost 1.5", "cost", 1.5).refuses("cost"),
        commit("cost as text", "cost", "1").refuses("cost"),
        commit("cost null", "cost", Value::Null).refuses("cost"),
        post("no cost", "/commit", json!({ "reservation": RESERVATION })).refuses("cost"),
        post("no reservation", "/commit", json!({ "cost": 1 })).refuses("reservation"),
        post("nothing", "/cancel", json!({})).refuses("reservation"),
        commit("reservation number", "reservation", 1).refuses("reservation"),
        commit("reservation null", "reservation", Value::Null).refuses("reservation"),
        commit("namespace alone", "namespace", "api").refuses("namespace"),
        post(
            "bad namespace",
            "/commit",
            json!({ "reservation": RESERVATION, "cost": 1, "namespace": "A", "attributes": {} }),
        )
        .refuses("namespace"),
        commit("attributes null", "attributes", Value::Null).refuses("attributes"),
        commit("attributes list", "attributes", json!([])).refuses("attributes"),
        commit("attribute name", "attributes", json!({ "A": "a" })).refuses("attributes.A"),
        commit("ttl", "ttl_ms", 1_000).refuses("ttl_ms"),
        commit("idempotency key", "idempotency_key", "k").refuses("idempotency_key"),
        post("cancel with a cost", "/cancel", json!({ "reservation": RESERVATION, "cost": 0 }))
            .refuses("cost"),
    ]
}

fn surroundings() -> Vec<Case> {
    let mut cases = Vec::new();
    for path in ["/reserve", "/commit", "/cancel"] {
        cases.extend([
            Case::post("empty body", path, "").is(400, "malformed"),
            Case::post("truncated", path, "{\"cost\":").is(400, "malformed"),
            Case::post("array", path, "[]").refuses("body"),
            Case::post("null", path, "null").refuses("body"),
            Case::post("not JSON", path, "{}")
                .header("content-type", "text/plain")
                .is(415, "unsupported_media_type"),
            Case::post("without a key", path, "{}").anonymous().is(401, "unauthenticated"),
            Case::post("GET", path, "").method(Method::GET).is(405, "method_not_allowed"),
        ]);
    }
    cases
}
