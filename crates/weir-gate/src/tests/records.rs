//! `/record` takes units that were used already, even if fewer are left.

use serde_json::{Value, json};

use super::support::Gate;

const DAY_MS: u64 = 86_400_000;

fn budget(over: &str) -> Value {
    json!({
        "name": "tokens", "count_by": ["user"], "over": over,
        "limits": [{ "algorithm": "fixed_window", "limit": 50, "window_ms": 366 * DAY_MS }],
    })
}

#[tokio::test]
async fn record_takes_more_than_is_left_and_a_repeat_takes_nothing() {
    let (gate, keys) = Gate::with_rules(vec![budget("deny")]).await;
    let ask = async |path: &str, cost: u64, key: Option<&str>| {
        let mut body = json!({ "attributes": { "user": "u" }, "cost": cost });
        if let Some(key) = key {
            body["idempotency_key"] = json!(key);
        }
        gate.send("post", path, Some(&keys.check), &body).await
    };
    for _ in 0..3 {
        let (status, answer) = ask("/record", 30, Some("call")).await;
        assert_eq!((status, &answer["charged"]), (200, &json!(30)), "{answer}");
        assert_eq!((&answer["allowed"], &answer["remaining"]), (&json!(false), &json!(20)));
    }
    let (status, answer) = ask("/record", 1_000_000_000, None).await;
    assert_eq!((status, &answer["charged"]), (200, &json!(1_000_000_000)), "never 429");
    assert_eq!((&answer["allowed"], &answer["remaining"]), (&json!(false), &json!(0)));
    assert_eq!(ask("/check", 1, None).await.0, 429);
    for path in ["/check", "/refund"] {
        let (status, problem) = ask(path, 30, Some("call")).await;
        assert_eq!((status, &problem["fields"][0]["field"]), (422, &json!("idempotency_key")));
    }
    let metrics = gate.metrics();
    assert!(metrics.contains("weir_checks_total{outcome=\"recorded\"} 4"), "{metrics}");
    assert!(metrics.contains("weir_checks_total{outcome=\"denied\"} 1"), "{metrics}");
}

#[tokio::test]
async fn debt_rule_admits_a_check_while_anything_is_left() {
    let (gate, keys) = Gate::with_rules(vec![budget("debt")]).await;
    let body = json!({ "attributes": { "user": "u" }, "cost": 17 });
    for (status, remaining) in [(200, 33), (200, 16), (200, 0), (429, 0)] {
        let (found, answer) = gate.send("post", "/check", Some(&keys.check), &body).await;
        assert_eq!((found, &answer["remaining"]), (status, &json!(remaining)), "{answer}");
    }
}

#[tokio::test]
async fn record_that_no_limit_counts_charges_nothing() {
    let (gate, keys) = Gate::with_rules(vec![budget("deny")]).await;
    let (status, answer) =
        gate.send("post", "/record", Some(&keys.check), &json!({ "cost": 7 })).await;
    assert_eq!((status, &answer["charged"], &answer["allowed"]), (200, &json!(0), &json!(true)));
}

#[tokio::test]
async fn invalid_records_are_refused_with_the_field_and_change_nothing() {
    let (gate, keys) = Gate::with_rules(vec![budget("deny")]).await;
    let long = "k".repeat(129);
    for (body, field, reason) in [
        (json!({ "cost": 1_000_000_001 }), "cost", "must be from 0 to 1000000000"),
        (json!({ "idempotency_key": "" }), "idempotency_key", "must be from 1 to 128 bytes"),
        (json!({ "idempotency_key": long }), "idempotency_key", "must be from 1 to 128 bytes"),
        (json!({ "namespace": "A" }), "namespace", "must be 1 to 63 lower-case letters"),
        (json!({ "attributes": { "user": "a\nb" } }), "attributes.user", "control characters"),
    ] {
        let mut body = body;
        body["attributes"]["user"] = body["attributes"].get("user").cloned().unwrap_or(json!("u"));
        let (status, problem) = gate.send("post", "/record", Some(&keys.check), &body).await;
        assert_eq!((status, &problem["fields"][0]["field"]), (422, &json!(field)), "{problem}");
        let said = problem["fields"][0]["reason"].as_str().unwrap_or_default();
        assert!(said.contains(reason), "{field}: {said}");
    }
    for body in [
        json!({ "cost": -1 }),
        json!({ "cost": 1.5 }),
        json!({ "cost": "1" }),
        json!({ "mode": "peek" }),
        json!({ "attributes": [] }),
    ] {
        let (status, problem) = gate.send("post", "/record", Some(&keys.check), &body).await;
        assert_eq!((status, &problem["code"]), (422, &json!("invalid")), "{body}: {problem}");
    }
    for (key, status) in [(None, 401), (Some("weir_nonsense"), 401), (Some(&*keys.read), 403)] {
        let (found, problem) = gate.send("post", "/record", key, &json!({})).await;
        assert_eq!(found, status, "{problem}");
    }
    let peek = json!({ "attributes": { "user": "u" }, "mode": "peek" });
    let (_, answer) = gate.send("post", "/check", Some(&keys.check), &peek).await;
    assert_eq!(answer["remaining"], json!(49), "nothing was taken: {answer}");
}
