//! Denials under an idempotency key, which are decided anew when they are repeated.

use serde_json::{Value, json};

use super::support::Gate;

fn one_a_year() -> Value {
    json!({
        "name": "per-user", "count_by": ["user"],
        "limits": [{ "algorithm": "fixed_window", "limit": 1, "window_ms": 31_622_400_000_u64 }],
    })
}

fn places() -> Value {
    json!({
        "name": "per-user", "count_by": ["user"],
        "limits": [{ "algorithm": "concurrency", "capacity": 1, "lease_ms": 600_000 }],
    })
}

#[tokio::test]
async fn repeat_of_a_denied_call_passes_when_units_are_left() {
    let (gate, keys) = Gate::with_rules(vec![one_a_year()]).await;
    let body = |user: &str, key: &str| json!({ "attributes": { "user": user }, "idempotency_key": format!("{user} {key}") });
    for path in ["/check", "/reserve"] {
        let take = json!({ "attributes": { "user": path } });
        assert_eq!(gate.send("post", "/check", Some(&keys.check), &take).await.0, 200);
        let asked =
            async |key: &str| gate.send("post", path, Some(&keys.check), &body(path, key)).await.0;
        assert_eq!((asked("call").await, asked("call").await), (429, 429), "{path}");
        assert_eq!(gate.send("post", "/refund", Some(&keys.check), &take).await.0, 200);
        assert_eq!((asked("call").await, asked("call").await), (200, 200), "{path}");
        assert_eq!(asked("another").await, 429, "{path}");
    }
}

#[tokio::test]
async fn repeat_of_a_denied_check_of_a_batch_passes_when_units_are_left() {
    let (gate, keys) = Gate::with_rules(vec![one_a_year()]).await;
    let check = json!({ "attributes": { "user": "u" }, "idempotency_key": "call" });
    let take = json!({ "attributes": { "user": "u" } });
    let batch = json!({ "checks": [take, check] });
    let allowed = async |body: &Value| {
        let (_, answer) = gate.send("post", "/check/batch", Some(&keys.check), body).await;
        let results = answer["results"].as_array().expect("results").clone();
        results.iter().map(|result| result["allowed"] == json!(true)).collect::<Vec<_>>()
    };
    assert_eq!(allowed(&batch).await, [true, false]);
    assert_eq!(gate.send("post", "/refund", Some(&keys.check), &take).await.0, 200);
    assert_eq!(allowed(&json!({ "checks": [check] })).await, [true]);
    assert_eq!(allowed(&batch).await, [false, true], "the repeat has its first answer");
}

#[tokio::test]
async fn repeat_of_a_check_that_found_no_place_takes_one_when_it_is_free() {
    let (gate, keys) = Gate::with_rules(vec![places()]).await;
    let ask = async |key: &str| {
        let body = json!({ "attributes": { "user": "u" }, "idempotency_key": key });
        gate.send("post", "/check", Some(&keys.check), &body).await
    };
    let (_, first) = ask("first").await;
    assert_eq!(ask("second").await.0, 429);
    let release = json!({ "lease": first["leases"][0]["id"] });
    assert_eq!(gate.send("post", "/release", Some(&keys.check), &release).await.0, 200);
    let (status, second) = ask("second").await;
    assert_eq!((status, ask("second").await.1["leases"].clone()), (200, second["leases"].clone()));
}
