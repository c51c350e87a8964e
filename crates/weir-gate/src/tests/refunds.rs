//! Repeated refunds, and refunds of a charge.

use serde_json::{Value, json};
use weir_domain::charged::Charged;
use weir_domain::time::Micros;

use super::support::Gate;

const YEAR_MS: u64 = 31_622_400_000;

fn of_each_algorithm() -> Vec<Value> {
    let limits = [
        json!({ "algorithm": "fixed_window", "limit": 10, "window_ms": YEAR_MS }),
        json!({ "algorithm": "sliding_window_log", "limit": 10, "window_ms": YEAR_MS }),
        json!({ "algorithm": "sliding_window_counter", "limit": 10, "window_ms": YEAR_MS }),
        json!({ "algorithm": "token_bucket", "capacity": 10, "refill_tokens": 10, "refill_interval_ms": YEAR_MS }),
        json!({ "algorithm": "quota", "limit": 10, "period": "year", "time_zone": "UTC", "anchor_day": 1 }),
        json!({ "algorithm": "spacing", "interval_ms": YEAR_MS }),
        json!({ "algorithm": "leaky_bucket", "capacity": 10, "drain_units": 10, "drain_interval_ms": YEAR_MS }),
    ];
    vec![json!({ "name": "rule", "count_by": ["user"], "limits": limits })]
}

/// `refunded` of each limit.
fn refunded(answer: &Value) -> Vec<bool> {
    let limits = answer["limits"].as_array().expect("limits");
    limits.iter().map(|limit| limit["refunded"] == json!(true)).collect()
}

#[tokio::test]
async fn refund_of_a_charge_returns_its_units_and_no_others() {
    let (gate, keys) = Gate::with_rules(of_each_algorithm()).await;
    let ask =
        async |path: &str, body: &Value| gate.send("post", path, Some(&keys.check), body).await;
    let check = json!({ "attributes": { "user": "u" }, "cost": 3, "idempotency_key": "check" });
    let (status, first) = ask("/check", &check).await;
    let text = first["charge"].as_str().expect("a charge");
    assert_eq!(status, 200, "{first}");
    assert_eq!(ask("/check", &check).await.1["charge"], json!(text), "a repeat has it too");
    let (status, denied) = ask("/check", &json!({ "attributes": { "user": "u" } })).await;
    assert_eq!((status, denied.get("charge")), (429, None), "the spacing denies: {denied}");

    let charged = Charged::parse(text).expect("it is parsed");
    let earlier = Charged { at: Micros(charged.at.0 - 2_000 * YEAR_MS), ..charged };
    let refund = |charge: &str, cost: u64| json!({ "attributes": { "user": "u" }, "cost": cost, "charge": charge });
    let left = |answer: &Value| {
        let limits = answer["limits"].as_array().expect("limits");
        limits.iter().map(|limit| limit["remaining"].as_u64()).collect::<Vec<_>>()
    };
    let taken = [7, 7, 7, 7, 7, 0, 7].map(Some);
    assert_eq!(left(&first), taken, "{first}");
    assert_eq!(left(&denied), taken, "{denied}");
    let (status, answer) = ask("/refund", &refund(&earlier.to_text(), 3)).await;
    assert_eq!(left(&answer), taken, "{answer}");
    assert_eq!((status, refunded(&answer)), (200, vec![false; 7]), "{answer}");
    let (_, answer) = ask("/refund", &refund(text, 3)).await;
    assert_eq!(refunded(&answer), [true, true, true, true, true, true, false], "{answer}");
    for (at, limit) in answer["limits"].as_array().expect("limits").iter().take(6).enumerate() {
        assert_eq!(limit["remaining"], limit["limit"], "{at}: {answer}");
    }
    let (_, answer) = ask("/refund", &refund(text, 3)).await;
    assert_eq!(refunded(&answer), [false; 7], "nothing is left of it: {answer}");
}

#[tokio::test]
async fn refund_of_a_wrong_charge_is_refused() {
    let (gate, keys) = Gate::with_rules(of_each_algorithm()).await;
    let check = json!({ "attributes": { "user": "u" }, "cost": 3 });
    let (_, first) = gate.send("post", "/check", Some(&keys.check), &check).await;
    let text = first["charge"].as_str().expect("a charge");
    let long = format!("{text}{}", ".1-1".repeat(600));
    for (charge, cost, field, reason) in [
        (text, 4, "cost", "must be at most 3, the units of the charge"),
        ("resv_1", 3, "charge", "is not the `charge` of an answer"),
        (&long, 3, "charge", "is not the `charge` of an answer"),
    ] {
        let body = json!({ "attributes": { "user": "u" }, "cost": cost, "charge": charge });
        let (status, problem) = gate.send("post", "/refund", Some(&keys.check), &body).await;
        let found = &problem["fields"][0];
        assert_eq!(
            (status, &found["field"], &found["reason"]),
            (422, &json!(field), &json!(reason))
        );
    }
    let body = json!({ "attributes": { "user": "u" }, "charge": text });
    assert_eq!(gate.send("post", "/check", Some(&keys.check), &body).await.0, 422);
}

#[tokio::test]
async fn record_can_be_refunded_by_its_charge() {
    let (gate, keys) = Gate::with_rules(vec![json!({
        "name": "rule", "count_by": ["user"],
        "limits": [{ "algorithm": "fixed_window", "limit": 10, "window_ms": YEAR_MS }],
    })])
    .await;
    let ask =
        async |path: &str, body: &Value| gate.send("post", path, Some(&keys.check), body).await.1;
    let recorded = ask("/record", &json!({ "attributes": { "user": "u" }, "cost": 12 })).await;
    let charge = recorded["charge"].as_str().expect("a charge");
    let refund = json!({ "attributes": { "user": "u" }, "cost": 12, "charge": charge });
    assert_eq!(ask("/refund", &refund).await["remaining"], json!(10));
    let nothing = ask("/record", &json!({ "attributes": { "user": "u" }, "cost": 0 })).await;
    assert_eq!(nothing.get("charge"), None, "{nothing}");
}

/// Units that a gate took in advance are of the window in which it took them.
#[tokio::test]
async fn check_of_leased_units_can_be_refunded_by_its_charge() {
    for limit in [
        json!({ "algorithm": "fixed_window", "limit": 100_000, "window_ms": YEAR_MS }),
        json!({ "algorithm": "sliding_window_counter", "limit": 100_000, "window_ms": YEAR_MS }),
        json!({ "algorithm": "token_bucket", "capacity": 100_000, "refill_tokens": 100_000, "refill_interval_ms": YEAR_MS }),
    ] {
        let consistency =
            if limit["algorithm"] == "fixed_window" { "leased" } else { "approximate" };
        let rule = json!({ "name": "rule", "count_by": [], "limits": [limit], "consistency": consistency });
        let (gate, keys) = Gate::with_rules(vec![rule]).await;
        let ask = async |path: &str, body: &Value| {
            gate.send("post", path, Some(&keys.check), body).await.1
        };
        let check = json!({ "attributes": {} });
        let leased = |metrics: &str| {
            metrics
                .lines()
                .any(|line| line.starts_with("weir_leased_checks_total") && !line.ends_with(" 0"))
        };
        let mut last = ask("/check", &check).await;
        for _ in 0..500 {
            if leased(&gate.metrics()) {
                break;
            }
            last = ask("/check", &check).await;
        }
        let charge = last["charge"].as_str().unwrap_or_else(|| panic!("{last}"));
        let answer = ask("/refund", &json!({ "attributes": {}, "charge": charge })).await;
        assert_eq!(refunded(&answer), [true], "{answer}");
    }
}

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
