//! A check that passes a concurrency limit has `leases`, `/renew` lets one begin anew, and `/release` ends it.

use serde_json::{Value, json};

use super::support::Gate;

const LEASE_MS: u64 = 60_000;

fn places(name: &str, capacity: u64) -> Value {
    json!({
        "name": name, "count_by": ["user"],
        "limits": [{ "algorithm": "concurrency", "capacity": capacity, "lease_ms": LEASE_MS }],
    })
}

fn budget(limit: u64) -> Value {
    let window =
        json!({ "algorithm": "fixed_window", "limit": limit, "window_ms": 31_622_400_000_u64 });
    json!({ "name": "budget", "count_by": ["user"], "limits": [window] })
}

fn check() -> Value {
    json!({ "attributes": { "user": "u" } })
}

fn lease(answer: &Value, at: usize) -> String {
    answer["leases"][at]["id"].as_str().unwrap_or_else(|| panic!("no lease: {answer}")).to_owned()
}

#[tokio::test]
async fn leases_are_granted_renewed_and_released_once() {
    let (gate, keys) = Gate::with_rules(vec![places("jobs", 2)]).await;
    let ask =
        async |path: &str, body: &Value| gate.send("post", path, Some(&keys.check), body).await;
    let (status, first) = ask("/check", &check()).await;
    assert_eq!((status, &first["limit"], &first["remaining"]), (200, &json!(2), &json!(1)));
    let id = lease(&first, 0);
    assert!(id.starts_with("lease_") && id.len() <= 200, "{id}");
    assert_eq!(first["leases"][0]["rule_id"], first["limits"][0]["rule_id"], "{first}");
    assert!(first["leases"][0]["expires_at_ms"].as_u64() > Some(1_763_726_400_000), "{first}");
    assert_eq!(ask("/check", &check()).await.0, 200);
    let (status, denied) = ask("/check", &check()).await;
    assert_eq!((status, &denied["denied_by"]), (429, &json!(["jobs"])));
    assert_eq!((&denied["leases"], &denied["cache_for_ms"]), (&Value::Null, &json!(0)));
    let wait_ms = denied["retry_after_ms"].as_u64().expect("when the first one ends");
    assert!((50_000..=LEASE_MS).contains(&wait_ms), "{denied}");
    let body = json!({ "lease": id });
    let (status, renewed) = ask("/renew", &body).await;
    assert_eq!((status, &renewed["degraded"]), (200, &Value::Null), "{renewed}");
    assert!(renewed["expires_at_ms"].as_u64() >= first["leases"][0]["expires_at_ms"].as_u64());
    for _ in 0..2 {
        let (status, released) = ask("/release", &body).await;
        let expected = json!({ "released": true, "degraded": null });
        assert_eq!((status, released), (200, expected), "a repeat gets the first answer");
    }
    assert_eq!(ask("/renew", &body).await.0, 404, "it was released");
    assert_eq!(ask("/check", &check()).await.0, 200, "no denial was cached");
    let metrics = gate.metrics();
    for (event, count) in [("granted", 3), ("renewed", 1), ("released", 1), ("ended", 1)] {
        let line = format!("weir_concurrency_leases_total{{event=\"{event}\"}} {count}");
        assert!(metrics.contains(&line), "{line}: {metrics}");
    }
}

#[tokio::test]
async fn check_that_one_kind_of_limit_denies_takes_nothing_of_the_other() {
    let (gate, keys) = Gate::with_rules(vec![places("jobs", 1), budget(2)]).await;
    let send = async |body: &Value| gate.send("post", "/check", Some(&keys.check), body).await;
    let (_, first) = send(&check()).await;
    for _ in 0..3 {
        assert_eq!(send(&check()).await.1["denied_by"], json!(["jobs"]));
    }
    let body = json!({ "lease": lease(&first, 0) });
    assert_eq!(gate.send("post", "/release", Some(&keys.check), &body).await.0, 200);
    let (status, second) = send(&check()).await;
    assert_eq!(status, 200, "one unit of the budget was left: {second}");
    let body = json!({ "lease": lease(&second, 0) });
    assert_eq!(gate.send("post", "/release", Some(&keys.check), &body).await.0, 200);
    let (_, denied) = send(&check()).await;
    assert_eq!(denied["denied_by"], json!(["budget"]));
    let places = &denied["limits"][0];
    assert_eq!((&places["allowed"], &places["remaining"]), (&json!(true), &json!(1)), "{denied}");
}

#[tokio::test]
async fn only_the_tenant_that_got_a_lease_can_renew_or_release_it() {
    let (gate, keys) = Gate::with_rules(vec![places("jobs", 1)]).await;
    let (_, answer) = gate.send("post", "/check", Some(&keys.check), &check()).await;
    let body = json!({ "lease": lease(&answer, 0) });
    // The other gate shares Redis with this one; the id of the lease is the only link.
    let (other, foreign) = Gate::with_rules(vec![places("jobs", 1)]).await;
    for path in ["/renew", "/release"] {
        assert_eq!(other.send("post", path, Some(&foreign.check), &body).await.0, 404, "{path}");
        for (key, status) in [(None, 401), (Some("weir_nobody"), 401), (Some(&*keys.read), 403)] {
            assert_eq!(gate.send("post", path, key, &body).await.0, status, "{path}");
        }
    }
    assert_eq!(gate.send("post", "/release", Some(&keys.check), &body).await.0, 200);
}

#[tokio::test]
async fn peeks_records_and_refunds_take_no_place() {
    let (gate, keys) = Gate::with_rules(vec![places("jobs", 1)]).await;
    let ask =
        async |path: &str, body: &Value| gate.send("post", path, Some(&keys.check), body).await;
    let mut peek = check();
    peek["mode"] = json!("peek");
    let (_, peeked) = ask("/check", &peek).await;
    let (_, recorded) = ask("/record", &check()).await;
    let (_, refunded) = ask("/refund", &check()).await;
    // A peek answers as a check would.
    for (answer, remaining) in [(peeked, 0), (recorded, 1), (refunded, 1)] {
        assert_eq!((&answer["allowed"], &answer["leases"]), (&json!(true), &Value::Null));
        assert_eq!(answer["remaining"], json!(remaining), "{answer}");
    }
}

#[tokio::test]
async fn repeat_with_an_idempotency_key_gets_the_same_lease() {
    let (gate, keys) = Gate::with_rules(vec![places("jobs", 5)]).await;
    let mut body = check();
    body["idempotency_key"] = json!("job");
    let mut answers = Vec::new();
    for _ in 0..3 {
        let (status, answer) = gate.send("post", "/check", Some(&keys.check), &body).await;
        assert_eq!((status, &answer["remaining"]), (200, &json!(4)), "{answer}");
        answers.push(answer["leases"].clone());
    }
    assert!(answers.iter().all(|leases| *leases == answers[0]), "{answers:?}");
    assert_eq!(answers[0].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn batch_takes_a_lease_for_each_check_and_shadow_rules_have_their_own() {
    let mut shadow = places("observed", 1);
    shadow["mode"] = json!("shadow");
    let (gate, keys) = Gate::with_rules(vec![places("jobs", 2), shadow]).await;
    let body = json!({ "checks": [check(), check(), check()] });
    let (_, answer) = gate.send("post", "/check/batch", Some(&keys.check), &body).await;
    let leases = |at: usize| answer["results"][at]["leases"].as_array().map_or(0, Vec::len);
    assert_eq!([leases(0), leases(1), leases(2)], [2, 1, 0], "{answer}");
}

#[tokio::test]
async fn reserve_takes_a_lease_that_its_commit_releases() {
    let (gate, keys) = Gate::with_rules(vec![places("jobs", 1), budget(100)]).await;
    let ask =
        async |path: &str, body: &Value| gate.send("post", path, Some(&keys.check), body).await;
    let reserve = json!({ "attributes": { "user": "u" }, "cost": 60 });
    let (status, held) = ask("/reserve", &reserve).await;
    assert_eq!((status, &held["reserved"]), (200, &json!(60)), "{held}");
    let renewed = ask("/renew", &json!({ "lease": lease(&held, 0) })).await;
    assert_eq!(renewed.0, 200, "{}", renewed.1);
    let (status, denied) = ask("/reserve", &reserve).await;
    assert_eq!((status, &denied["denied_by"]), (429, &json!(["jobs", "budget"])), "{denied}");
    let commit = json!({ "reservation": held["reservation"], "cost": 10 });
    assert_eq!(ask("/commit", &commit).await.0, 200);
    assert_eq!(ask("/renew", &json!({ "lease": lease(&held, 0) })).await.0, 404);
    let (status, again) = ask("/reserve", &reserve).await;
    assert_eq!((status, &again["reserved"]), (200, &json!(60)), "{again}");
}
