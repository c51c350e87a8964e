//! Repeated refunds.

use serde_json::{Value, json};

use super::support::Gate;

#[tokio::test]
async fn repeated_refund_gives_back_once_and_its_key_serves_no_other_request() {
    let rule = json!({
        "name": "per-user", "count_by": ["user"],
        "limits": [{ "algorithm": "fixed_window", "limit": 10, "window_ms": 31_622_400_000_u64 }],
    });
    let (gate, keys) = Gate::with_rules(vec![rule]).await;
    let ask = async |path: &str, cost: u64, key: Option<&str>| {
        let mut body = json!({ "attributes": { "user": "u" }, "cost": cost });
        if let Some(key) = key {
            body["idempotency_key"] = json!(key);
        }
        gate.send("post", path, Some(&keys.check), &body).await
    };
    let remaining = |answer: &Value| answer["limits"][0]["remaining"].as_u64().expect("a number");
    ask("/check", 8, Some("check")).await;
    for _ in 0..3 {
        let (status, answer) = ask("/refund", 2, Some("refund")).await;
        assert_eq!((status, remaining(&answer)), (200, 4), "{answer}");
        assert_eq!(answer["limits"][0]["refunded"], json!(true), "{answer}");
    }
    for (path, cost, key) in
        [("/refund", 3, "refund"), ("/check", 2, "refund"), ("/refund", 8, "check")]
    {
        let (status, problem) = ask(path, cost, Some(key)).await;
        assert_eq!(
            (status, &problem["fields"][0]["field"]),
            (422, &json!("idempotency_key")),
            "{problem}"
        );
    }
    let (_, answer) = ask("/refund", 2, None).await;
    assert_eq!(remaining(&answer), 6, "nothing else was given back or taken: {answer}");
}
