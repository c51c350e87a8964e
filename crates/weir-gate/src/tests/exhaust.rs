//! `/exhaust` lets limits count as exhausted for a time.

use serde_json::{Value, json};

use super::support::Gate;

fn budget() -> Value {
    json!({
        "name": "upstream", "count_by": ["provider"],
        "limits": [{ "algorithm": "fixed_window", "limit": 50, "window_ms": 31_622_400_000_u64 }],
    })
}

#[tokio::test]
async fn exhausted_limits_deny_and_only_a_key_with_the_scope_can_exhaust() {
    let (gate, keys) = Gate::with_rules(vec![budget()]).await;
    let check = json!({ "attributes": { "provider": "p" } });
    let other = json!({ "attributes": { "provider": "q" } });
    let body = json!({ "attributes": { "provider": "p" }, "for_ms": 30_000 });
    for (key, status) in [(None, 401), (Some(&keys.check), 403), (Some(&keys.read), 403)] {
        let key = key.map(String::as_str);
        assert_eq!(gate.send("post", "/exhaust", key, &body).await.0, status);
    }
    assert_eq!(gate.send("post", "/check", Some(&keys.exhaust), &check).await.0, 403);
    assert_eq!(gate.send("post", "/check", Some(&keys.check), &check).await.0, 200);
    let (status, answer) = gate.send("post", "/exhaust", Some(&keys.exhaust), &body).await;
    assert_eq!((status, &answer["allowed"], &answer["remaining"]), (200, &json!(false), &json!(0)));
    let (status, denied) = gate.send("post", "/check", Some(&keys.check), &check).await;
    assert_eq!((status, &denied["denied_by"]), (429, &json!(["upstream"])), "{denied}");
    let wait_ms = denied["retry_after_ms"].as_u64().expect("a wait");
    assert!((20_000..=30_000).contains(&wait_ms), "{denied}");
    assert_eq!(gate.send("post", "/check", Some(&keys.check), &other).await.0, 200);
}

#[tokio::test]
async fn invalid_bodies_are_refused_with_the_field() {
    let (gate, keys) = Gate::with_rules(vec![budget()]).await;
    for (body, field) in [
        (json!({}), "for_ms"),
        (json!({ "for_ms": 0 }), "for_ms"),
        (json!({ "for_ms": 600_001 }), "for_ms"),
        (json!({ "for_ms": "1" }), "for_ms"),
        (json!({ "for_ms": 1, "cost": 1 }), "cost"),
        (json!({ "for_ms": 1, "namespace": "A" }), "namespace"),
        (json!({ "for_ms": 1, "attributes": { "A": "a" } }), "attributes.A"),
    ] {
        let (status, problem) = gate.send("post", "/exhaust", Some(&keys.exhaust), &body).await;
        assert_eq!((status, &problem["fields"][0]["field"]), (422, &json!(field)), "{problem}");
    }
}
