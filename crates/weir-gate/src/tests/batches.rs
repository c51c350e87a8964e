//! Batches: one that cannot be decided as a whole takes nothing.

use serde_json::json;

use super::support::Gate;

#[tokio::test]
async fn idempotency_key_of_two_different_checks_is_refused_before_anything_is_taken() {
    let (gate, keys, _) = Gate::with_two_tenants().await;
    let check =
        |cost: u64| json!({ "attributes": { "user": "u" }, "cost": cost, "idempotency_key": "k" });
    let ask = async |path: &str, body| gate.send("POST", path, Some(&keys.check), &body).await;
    let (status, problem) = ask("/check/batch", json!({ "checks": [check(1), check(2)] })).await;
    let field = &problem["fields"][0]["field"];
    assert_eq!((status, field), (422, &json!("checks[1].idempotency_key")), "{problem}");
    let (status, batch) = ask("/check/batch", json!({ "checks": [check(2), check(2)] })).await;
    let results = &batch["results"];
    assert_eq!(
        (status, &results[0]["remaining"]),
        (200, &json!(0)),
        "two of two are left: {batch}"
    );
    assert_eq!(results[0], results[1], "a repeat takes nothing");
}
