//! The keys that each operation of the OpenAPI document needs, and the isolation of tenants.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::support::Gate;

/// Operations without authentication. Add one only after a review.
const PUBLIC: [(&str, &str); 3] = [("get", "/healthz"), ("get", "/readyz"), ("get", "/metrics")];

/// The reservation of a request in `default` that no limit counted.
const RESERVATION: &str =
    "resv_AQAHBwcHBwcHBwcHBwcHBwcHAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB2RlZmF1bHQ";

/// Operations that need a key with the scope `check`, each with a valid body.
fn with_key() -> [(&'static str, &'static str, Value); 10] {
    let check = json!({ "attributes": { "user": "u-1" } });
    let deferred = json!({
        "target": "webhook_01J00000000000000000000000",
        "payload": null,
        "idempotency_key": "k",
    });
    [
        ("post", "/check", check.clone()),
        ("post", "/check/batch", json!({ "checks": [check.clone()] })),
        ("post", "/record", check.clone()),
        ("post", "/refund", check.clone()),
        ("post", "/reserve", check),
        ("post", "/commit", json!({ "reservation": RESERVATION, "cost": 1 })),
        ("post", "/cancel", json!({ "reservation": RESERVATION })),
        ("post", "/defer", deferred),
        ("get", "/deferred/{deferred}", Value::Null),
        ("delete", "/deferred/{deferred}", Value::Null),
    ]
}

/// The operation with a scope of its own, which `exhaust.rs` tests.
const OF_EXHAUST: [(&str, &str); 1] = [("post", "/exhaust")];

/// Operations on leases, which `concurrency.rs` tests: there is no lease that every tenant has.
const OF_LEASES: [(&str, &str); 2] = [("post", "/renew"), ("post", "/release")];

/// The operation of customers, whose tokens `usage.rs` tests.
const OF_CUSTOMERS: [(&str, &str); 1] = [("get", "/usage")];

/// Operations whose keys the tests of `authorize` check: a wrong key is 503.
const OF_PROXIES: [(&str, &str); 1] = [("get", "/authorize/{profile_name}")];

#[test]
fn every_operation_of_the_document_has_a_row() {
    let document = serde_json::to_value(crate::openapi()).expect("a document");
    let paths = document["paths"].as_object().expect("paths");
    let described: BTreeSet<(String, String)> = paths
        .iter()
        .flat_map(|(path, item)| {
            let methods = item.as_object().expect("an item").keys();
            methods.map(|method| (method.clone(), path.clone())).collect::<Vec<_>>()
        })
        .collect();
    let other = PUBLIC
        .iter()
        .chain(&OF_PROXIES)
        .chain(&OF_EXHAUST)
        .chain(&OF_LEASES)
        .chain(&OF_CUSTOMERS)
        .map(|&(method, path)| (method.to_owned(), path.to_owned()));
    let rows = with_key().map(|(method, path, _)| (method.to_owned(), path.to_owned()));
    assert_eq!(described, other.chain(rows).collect());
}

#[tokio::test]
async fn checks_need_a_key_with_the_scope_and_unknown_keys_are_indistinguishable() {
    let (gate, keys, _) = Gate::with_two_tenants().await;
    for (method, path, body) in with_key() {
        for stranger in [None, Some("weir_nobody"), Some("x")] {
            let (status, problem) = gate.send(method, path, stranger, &body).await;
            assert_eq!((status, &problem["code"]), (401, &json!("unauthenticated")), "{path}");
        }
        let (status, problem) = gate.send(method, path, Some(&keys.read), &body).await;
        assert_eq!((status, &problem["code"]), (403, &json!("forbidden")), "{path}");
        let (status, _) = gate.send(method, path, Some(&keys.check), &body).await;
        let served = match path {
            // This gate has no key to sign deferred jobs.
            "/defer" => 503,
            // The name of the parameter is no id.
            "/deferred/{deferred}" => 404,
            _ => 200,
        };
        assert_eq!(status, served, "{path}");
    }
    for (method, path) in PUBLIC {
        assert_eq!(gate.send(method, path, None, &Value::Null).await.0, 200, "{path}");
    }
}

#[tokio::test]
async fn tenants_with_the_same_rule_and_subject_do_not_share_a_counter() {
    let (gate, a, b) = Gate::with_two_tenants().await;
    for user in ["u-1", "u:1", "{u}", "*", "u-1\u{2028}", "ü🦀"] {
        let body = json!({ "attributes": { "user": user } });
        for allowed in [true, true, false] {
            let (_, answer) = gate.send("post", "/check", Some(&a.check), &body).await;
            assert_eq!(answer["allowed"], allowed, "{user}");
        }
        let (status, answer) = gate.send("post", "/check", Some(&b.check), &body).await;
        assert_eq!((status, &answer["remaining"]), (200, &json!(1)), "{user}");
    }
    // Nothing in a body can choose another tenant.
    let body = json!({ "tenant": "other", "attributes": { "user": "u-1" } });
    let (status, problem) = gate.send("post", "/check", Some(&b.check), &body).await;
    assert_eq!((status, &problem["fields"][0]["field"]), (422, &json!("tenant")));
}
