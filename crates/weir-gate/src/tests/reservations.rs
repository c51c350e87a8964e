//! `/reserve` holds units, `/commit` charges what was used of them, and `/cancel` releases them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::support::Gate;

const YEAR_MS: u64 = 366 * 86_400_000;

fn budget(limit: u64) -> Value {
    json!({
        "name": "tokens", "count_by": ["user"],
        "limits": [{ "algorithm": "fixed_window", "limit": limit, "window_ms": YEAR_MS }],
    })
}

fn reserve(cost: u64) -> Value {
    json!({ "attributes": { "user": "u" }, "cost": cost })
}

async fn remaining(gate: &Gate, key: &str) -> Value {
    let peek = json!({ "attributes": { "user": "u" }, "mode": "peek" });
    let (_, answer) = gate.send("post", "/check", Some(key), &peek).await;
    // A peek of 1 answers as a check of 1 would.
    answer["remaining"].clone()
}

#[tokio::test]
async fn reserved_units_are_missing_to_others_and_the_commit_charges_the_actual_cost_once() {
    let (gate, keys) = Gate::with_rules(vec![budget(100)]).await;
    let ask =
        async |path: &str, body: &Value| gate.send("post", path, Some(&keys.check), body).await;
    let (status, held) = ask("/reserve", &reserve(60)).await;
    assert_eq!(
        (status, &held["reserved"], &held["remaining"]),
        (200, &json!(60), &json!(40)),
        "{held}"
    );
    let text = held["reservation"].as_str().expect("a text").to_owned();
    assert!(text.starts_with("resv_") && text.len() < 128, "{text}");
    assert!(held["expires_at_ms"].as_u64() > Some(1_763_726_400_000), "by Redis' clock: {held}");
    let (status, denied) = ask("/reserve", &reserve(41)).await;
    assert_eq!(
        (status, &denied["reservation"], &denied["reserved"]),
        (429, &Value::Null, &json!(0))
    );
    assert_eq!(
        (&denied["expires_at_ms"], &denied["denied_by"]),
        (&Value::Null, &json!(["tokens"]))
    );
    let wait_ms = denied["retry_after_ms"].as_u64().expect("when the other one ends");
    assert!((50_000..=60_000).contains(&wait_ms), "{denied}");
    assert_eq!(
        gate.send("post", "/reserve?deny_status=200", Some(&keys.check), &reserve(41)).await.0,
        200
    );
    for (path, cost) in [("/commit", Some(25)), ("/commit", Some(99)), ("/cancel", None)] {
        let mut body = json!({ "reservation": text });
        if let Some(cost) = cost {
            body["cost"] = json!(cost);
        }
        let (status, answer) = ask(path, &body).await;
        let first = json!({ "charged": 25, "released": 35, "late": false, "degraded": null, "buffered": false });
        assert_eq!(
            (status, answer),
            (200, first),
            "{path} {cost:?}: a repeat gets the first answer"
        );
    }
    assert_eq!(remaining(&gate, &keys.check).await, json!(74));
    let metrics = gate.metrics();
    for (event, count) in [("reserved", 1), ("committed", 1), ("cancelled", 0), ("late", 0)] {
        let line = format!("weir_reservations_total{{event=\"{event}\"}} {count}");
        assert!(metrics.contains(&line), "{line}: {metrics}");
    }
}

#[tokio::test]
async fn cancelled_units_are_available_at_once_even_where_a_denial_was_cached() {
    let (gate, keys) = Gate::with_rules(vec![budget(10)]).await;
    let ask =
        async |path: &str, body: &Value| gate.send("post", path, Some(&keys.check), body).await;
    let (_, held) = ask("/reserve", &reserve(10)).await;
    assert_eq!(ask("/check", &reserve(1)).await.0, 429);
    assert_eq!(ask("/check", &reserve(1)).await.0, 429);
    let cancel = json!({ "reservation": held["reservation"] });
    let (status, answer) = ask("/cancel", &cancel).await;
    assert_eq!((status, &answer["charged"], &answer["released"]), (200, &json!(0), &json!(10)));
    let (status, answer) = ask("/check", &reserve(10)).await;
    assert_eq!((status, &answer["remaining"]), (200, &json!(0)), "{answer}");
}

#[tokio::test]
async fn reserve_with_an_idempotency_key_holds_once_and_returns_the_same_reservation() {
    let (gate, keys) = Gate::with_rules(vec![budget(100)]).await;
    let mut body = reserve(30);
    body["idempotency_key"] = json!("call");
    let mut texts = Vec::new();
    for _ in 0..3 {
        let (status, held) = gate.send("post", "/reserve", Some(&keys.check), &body).await;
        assert_eq!((status, &held["remaining"]), (200, &json!(70)), "{held}");
        texts.push(held["reservation"].as_str().expect("a text").to_owned());
    }
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
    body["ttl_ms"] = json!(5_000);
    let (status, problem) = gate.send("post", "/reserve", Some(&keys.check), &body).await;
    assert_eq!((status, &problem["fields"][0]["field"]), (422, &json!("idempotency_key")));
}

#[tokio::test]
async fn reserve_at_most_accepts_what_is_left() {
    let (gate, keys) = Gate::with_rules(vec![budget(10)]).await;
    let mut body = reserve(500);
    assert_eq!(gate.send("post", "/reserve", Some(&keys.check), &body).await.0, 429);
    body["at_most"] = json!(true);
    let (status, held) = gate.send("post", "/reserve", Some(&keys.check), &body).await;
    assert_eq!(
        (status, &held["reserved"], &held["remaining"]),
        (200, &json!(10), &json!(0)),
        "{held}"
    );
    assert_eq!(
        gate.send("post", "/reserve", Some(&keys.check), &body).await.0,
        429,
        "nothing is left"
    );
}

#[tokio::test]
async fn reservation_belongs_to_its_tenant() {
    let (gate, a, b) = Gate::with_two_tenants().await;
    let body = json!({ "attributes": { "user": "u-1" }, "cost": 2 });
    let (status, held) = gate.send("post", "/reserve", Some(&a.check), &body).await;
    assert_eq!(status, 200, "{held}");
    let commit = json!({ "reservation": held["reservation"], "cost": 0 });
    let (status, problem) = gate.send("post", "/commit", Some(&b.check), &commit).await;
    assert_eq!((status, &problem["code"]), (404, &json!("not_found")), "{problem}");
    let cancel = json!({ "reservation": held["reservation"] });
    assert_eq!(gate.send("post", "/cancel", Some(&b.check), &cancel).await.0, 404);
    assert_eq!(gate.send("post", "/check", Some(&a.check), &body).await.0, 429, "still held");
    assert_eq!(gate.send("post", "/cancel", Some(&a.check), &cancel).await.0, 200);
    assert_eq!(gate.send("post", "/check", Some(&a.check), &body).await.0, 200);
}

#[tokio::test]
async fn commit_after_the_end_is_recorded_by_its_attributes_and_is_404_without_them() {
    let (gate, keys) = Gate::with_rules(vec![budget(100)]).await;
    let ask =
        async |path: &str, body: &Value| gate.send("post", path, Some(&keys.check), body).await;
    let mut body = reserve(100);
    body["ttl_ms"] = json!(1_000);
    let (_, held) = ask("/reserve", &body).await;
    let until = tokio::time::Instant::now() + Duration::from_secs(20);
    while remaining(&gate, &keys.check).await != json!(99) {
        assert!(tokio::time::Instant::now() < until, "the units never returned");
        tokio::task::yield_now().await;
    }
    let mut commit = json!({ "reservation": held["reservation"], "cost": 7 });
    assert_eq!(ask("/commit", &commit).await.0, 404);
    commit["attributes"] = json!({ "user": "u" });
    for _ in 0..2 {
        let (status, answer) = ask("/commit", &commit).await;
        let late = json!({ "charged": 7, "released": 0, "late": true, "degraded": null, "buffered": false });
        assert_eq!((status, answer), (200, late));
    }
    assert_eq!(remaining(&gate, &keys.check).await, json!(92), "recorded once");
}

#[tokio::test]
async fn reservation_that_no_limit_counts_is_admitted_and_charges_nothing() {
    let (gate, keys) = Gate::with_rules(vec![budget(100)]).await;
    let (status, held) =
        gate.send("post", "/reserve", Some(&keys.check), &json!({ "cost": 7 })).await;
    assert_eq!(
        (status, &held["reserved"], &held["limits"]),
        (200, &json!(7), &json!([])),
        "{held}"
    );
    let commit = json!({ "reservation": held["reservation"], "cost": 7 });
    let (status, answer) = gate.send("post", "/commit", Some(&keys.check), &commit).await;
    assert_eq!((status, &answer["charged"], &answer["released"]), (200, &json!(0), &json!(0)));
}

/// The actual costs of a hundred concurrent model calls that were admitted, with estimates of 500 and a limit of 10,000.
async fn model_calls(actual: fn(u64) -> u64) -> (Vec<u64>, Value) {
    let (gate, keys) = Gate::with_rules(vec![budget(10_000)]).await;
    let (gate, key) = (Arc::new(gate), keys.check);
    let mut calls = JoinSet::new();
    for at in 0..100 {
        let (gate, key) = (Arc::clone(&gate), key.clone());
        calls.spawn(async move {
            let (status, held) = gate.send("post", "/reserve", Some(&key), &reserve(500)).await;
            if status != 200 {
                assert_eq!(status, 429, "{held}");
                return None;
            }
            for _ in 0..at % 7 {
                tokio::task::yield_now().await;
            }
            let commit = json!({ "reservation": held["reservation"], "cost": actual(at) });
            let (status, answer) = gate.send("post", "/commit", Some(&key), &commit).await;
            assert_eq!((status, &answer["charged"]), (200, &json!(actual(at))), "{answer}");
            Some(actual(at))
        });
    }
    let admitted = calls.join_all().await.into_iter().flatten().collect();
    let (_, peek) = gate
        .send(
            "post",
            "/check",
            Some(&key),
            &json!({ "attributes": { "user": "u" }, "mode": "peek" }),
        )
        .await;
    (admitted, peek["remaining"].clone())
}

#[tokio::test]
async fn hundred_concurrent_calls_never_spend_more_than_the_limit_and_the_excess_over_estimates() {
    let (admitted, _) = model_calls(|at| 20 + at * 89 % 881).await;
    let excess: u64 = admitted.iter().map(|actual| actual.saturating_sub(500)).sum();
    let sum: u64 = admitted.iter().sum();
    assert!(admitted.len() >= 11 && sum <= 10_000 + excess, "{sum} with an excess of {excess}");
    // Estimates that are upper bounds: exactly the limit is never exceeded, and nothing is lost.
    let (admitted, left) = model_calls(|at| 20 + at * 89 % 481).await;
    let sum: u64 = admitted.iter().sum();
    assert!(admitted.len() >= 20 && sum <= 10_000, "{} calls: {sum}", admitted.len());
    let expected = if sum < 10_000 { 10_000 - sum - 1 } else { 0 };
    assert_eq!(left, json!(expected), "the peek of 1 after {sum}");
}
