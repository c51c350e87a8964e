//! A check can match at most 64 limits. One that matches more is refused with the bound, and nothing is taken.

use serde_json::{Value, json};

use super::support::Gate;

/// A rule that counts by `count_by` with eight limits.
fn of_eight(name: &str, count_by: &str) -> Value {
    let limit = json!({ "algorithm": "fixed_window", "limit": 5, "window_ms": 86_400_000 });
    json!({ "name": name, "count_by": [count_by], "limits": vec![limit; 8] })
}

/// 64 limits for each `user`, and 8 more for a request with a `route`.
fn rules() -> Vec<Value> {
    let by_user = (0..8).map(|at| of_eight(&format!("by-user-{at}"), "user"));
    by_user.chain([of_eight("by-route", "route")]).collect()
}

#[tokio::test]
async fn check_that_matches_more_than_64_limits_is_refused_with_the_bound() {
    let (gate, keys) = Gate::with_rules(rules()).await;
    let attributes = json!({ "attributes": { "user": "u", "route": "/r" } });
    for path in ["/check", "/record", "/refund"] {
        let (status, problem) = gate.send("POST", path, Some(&keys.check), &attributes).await;
        assert_eq!((status, &problem["code"]), (422, &json!("invalid")), "{path}: {problem}");
        assert_eq!(problem["fields"][0]["field"], "namespace");
        assert!(
            problem["detail"].as_str().is_some_and(|detail| detail.contains("64 limits")),
            "{problem}"
        );
    }
    let fewer = json!({ "attributes": { "user": "u" } });
    let (status, answer) = gate.send("POST", "/check", Some(&keys.check), &fewer).await;
    assert_eq!(status, 200, "64 limits are decided");
    assert_eq!(
        (answer["limits"].as_array().map(Vec::len), &answer["remaining"]),
        (Some(64), &json!(4))
    );
}

#[tokio::test]
async fn batch_with_such_a_check_is_refused_by_its_position_and_takes_nothing() {
    let (gate, keys) = Gate::with_rules(rules()).await;
    let (fewer, more) = (json!({ "user": "u" }), json!({ "user": "u", "route": "/r" }));
    let checks = json!({ "checks": [{ "attributes": fewer }, { "attributes": more }] });
    let (status, problem) = gate.send("POST", "/check/batch", Some(&keys.check), &checks).await;
    assert_eq!(status, 422, "{problem}");
    assert_eq!(problem["fields"][0]["field"], "checks[1].namespace");
    let peek = json!({ "attributes": fewer, "mode": "peek" });
    let (_, answer) = gate.send("POST", "/check", Some(&keys.check), &peek).await;
    assert_eq!(answer["remaining"], 4, "the peek would be the first to take a unit");
}

#[tokio::test]
async fn spellings_of_one_subject_share_a_counter() {
    let limits = json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 86_400_000 }]);
    let by = |name: &str, counted: Value| json!({ "name": name, "count_by": [counted], "limits": limits.clone() });
    let (gate, keys) = Gate::with_rules(vec![
        by("by-address", json!({ "attribute": "ip", "as": "address" })),
        by("by-account", json!({ "attribute": "user", "as": "email" })),
    ])
    .await;
    let spellings = [
        ("ip", ["2001:db8:1:2::7", "2001:DB8:1:2::8", "2001:db8:1:2::/64", "2001:db8:1:2:3::1"]),
        ("ip", ["192.0.2.7", "::ffff:192.0.2.7", " 192.0.2.7", "::FFFF:c000:207"]),
        ("user", ["ada@example.com", "Ada@Example.com", " ada@example.com ", "ADA@EXAMPLE.COM"]),
    ];
    for (attribute, values) in spellings {
        for (value, remaining) in values.into_iter().zip((1..5).rev()) {
            let check = json!({ "attributes": { attribute: value } });
            let (_, answer) = gate.send("POST", "/check", Some(&keys.check), &check).await;
            assert_eq!(answer["remaining"], remaining, "{value}: {answer}");
        }
    }
}
