//! A key in Redis that holds a value of the wrong type.

use serde_json::{Value, json};

use super::support::Gate;

fn check(user: &str) -> Value {
    json!({ "attributes": { "user": user } })
}

fn rule(name: &str, on_store_failure: &str) -> Value {
    json!({
        "namespace": name, "name": name, "count_by": ["user"], "on_store_failure": on_store_failure,
        "limits": [{ "algorithm": "fixed_window", "limit": 2, "window_ms": 31_622_400_000_u64 }],
    })
}

/// Replaces the counters of the tenant's subjects by a value of another type.
fn spoil(tenant: &str) {
    let redis = weir_local::shared::redis();
    let keys = redis.command(&format!("KEYS weir:*:{tenant}:*:s:*")).expect("redis lists");
    let keys: Vec<&str> = keys.lines().filter(|line| line.starts_with("weir:")).collect();
    assert_eq!(keys.len(), 1, "{keys:?}");
    for key in keys {
        redis.command(&format!("DEL {key}")).expect("redis removes");
        redis.command(&format!("SADD {key} x")).expect("redis adds");
    }
}

#[tokio::test]
async fn subject_with_a_bad_key_is_answered_by_on_store_failure_and_all_others_as_always() {
    for (policy, status) in [("allow", 200), ("deny", 429), ("local", 200)] {
        let (gate, keys) = Gate::with_rules(vec![rule("default", policy)]).await;
        let ask = |path, body| {
            let (gate, keys) = (&gate, &keys);
            async move { gate.send("post", path, Some(&keys.check), &body).await }
        };
        ask("/check", check("bad")).await;
        spoil(&keys.tenant);

        let (got, answer) = ask("/check", check("bad")).await;
        assert_eq!((got, &answer["degraded"]), (status, &json!(policy)), "{answer}");
        let (got, answer) = ask("/check", check("good")).await;
        assert_eq!((got, &answer["degraded"]), (200, &Value::Null), "{answer}");

        let checks =
            json!({ "checks": [check("good"), check("bad"), check("other"), check("good")] });
        let (got, batch) = ask("/check/batch", checks).await;
        assert_eq!(got, 200, "{batch}");
        let degraded: Vec<_> = (0..4).map(|at| batch["results"][at]["degraded"].clone()).collect();
        assert_eq!(degraded, [json!(null), json!(policy), json!(null), json!(null)]);
        assert_eq!(batch["results"][3]["allowed"], json!(false), "the third unit of two");
        let counted = "weir_redis_errors_total{kind=\"unreadable\"} 2";
        assert!(gate.metrics().contains(counted), "{}", gate.metrics());
    }
}
