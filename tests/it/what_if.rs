//! A replay of recorded checks with the same rule gives the same decisions: over both gates, with refunds and repeats.
//! Tenants that disable recording have no records, and if there are too many checks, some subjects are recorded completely.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Tenant, print, seconds, shared, until};

/// A rule whose limits refill nothing during the test, so that small differences of time do not affect decisions.
fn rule(capacity: u64) -> Value {
    json!({ "name": "per-user", "count_by": ["user"], "block_ms": 86_400_000,
        "match": [{ "attribute": "route", "op": "prefix", "value": "/pay" }],
        "limits": [
            { "algorithm": "token_bucket", "capacity": capacity, "refill_tokens": 1,
                "refill_interval_ms": 86_400_000 },
            { "algorithm": "sliding_window_log", "limit": 2 * capacity, "window_ms": 86_400_000 },
        ] })
}

/// The number of checks, and the number of recorded ones.
async fn recorded(tenant: &Tenant<'_>) -> (u64, u64) {
    let reply = tenant.admin(Method::GET, "/recorded", &Value::Null).await.expect(200);
    let of_default = &reply.body["data"][0];
    let number = |name: &str| of_default[name].as_u64().unwrap_or(0);
    (number("seen"), number("recorded"))
}

async fn until_recorded(tenant: &Tenant<'_>, checks: u64) {
    until(seconds(30), "the checks are recorded", async || {
        recorded(tenant).await == (checks, checks)
    })
    .await;
}

/// Sends checks and refunds through both gates. Returns the number that must be recorded and the number of refusals by user.
async fn send(tenant: &Tenant<'_>) -> (u64, BTreeMap<String, u64>) {
    let (mut sent, mut denied) = (0, BTreeMap::new());
    for at in 0..300_usize {
        let gate = &tenant.stack.gates[at % 2];
        let user = format!("u-{}", at * 7 % 20);
        let attributes = json!({ "user": user, "route": format!("/pay/{}", at % 3), "note": "n" });
        let mut body = json!({ "attributes": attributes, "cost": 1 + at % 3 });
        if at % 11 == 10 {
            tenant.ask(gate, "/refund", &body).await.expect(200);
        } else {
            body["idempotency_key"] = json!(format!("{}-{at}", tenant.id));
            let allowed = tenant.ask(gate, "/check", &body).await.allowed();
            *denied.entry(user.clone()).or_default() += u64::from(!allowed);
            if at % 5 == 0 {
                // An admission is answered again; a denial is decided anew, which is a check of its own.
                let again = tenant.ask(gate, "/check", &body).await.allowed();
                assert_eq!(again, allowed, "nothing came back for {user}");
                sent += u64::from(!allowed);
                *denied.entry(user).or_default() += u64::from(!again);
            }
        }
        sent += 1;
    }
    (sent, denied)
}

#[tokio::test]
async fn record_replayed_by_the_same_rule_is_what_the_gates_decided() {
    let tenant = Tenant::sign_up(shared().await).await;
    let id = tenant.rule(&rule(20)).await.id;
    let (sent, denied) = send(&tenant).await;
    until_recorded(&tenant, sent).await;
    let body = json!({ "rule": rule(8), "rule_id": id, "source": "recorded" });
    let answer = tenant.admin(Method::POST, "/simulate", &body).await.expect(200);
    let total: u64 = denied.values().sum();
    assert!(total > 20, "{denied:?}");
    assert_eq!(answer.number("/present/denied"), total);
    assert_eq!(answer.number("/subjects/seen"), denied.len() as u64);
    assert!(answer.number("/candidate/denied") > total);
    for subject in answer.body["subjects"]["data"].as_array().expect("a list") {
        let user = subject["subject"]["user"].as_str().expect("a name");
        assert_eq!(subject["denied_before"], denied[user], "{user}");
    }

    let switch = async |on: bool| {
        let body = json!({ "record_checks": on });
        tenant.admin(Method::PATCH, "", &body).await.expect(200);
        // The version of any later change is one that contains this change too.
        let (_, _, version) = tenant.make_key(&["check"]).await;
        tenant.settled(version).await;
    };
    let check = json!({ "attributes": { "user": "late", "route": "/pay" } });
    switch(false).await;
    for gate in [0, 1, 0, 1] {
        tenant.check(gate, &check).await;
    }
    switch(true).await;
    tenant.check(0, &check).await;
    until_recorded(&tenant, sent + 1).await;
}

/// Sends more checks than are recorded: ten of each of 800 users, a hundred at a time.
#[tokio::test]
async fn sampled_subjects_are_recorded_completely() {
    let tenant = Tenant::sign_up(shared().await).await;
    let body = |capacity: u64| {
        json!({ "name": "per-user", "count_by": ["user"], "limits": [
        { "algorithm": "token_bucket", "capacity": capacity, "refill_tokens": 1,
            "refill_interval_ms": 86_400_000 }] })
    };
    let id = tenant.rule(&body(8)).await.id;
    for turn in 0..80 {
        let user =
            |at: usize| json!({ "attributes": { "user": format!("u-{}", turn % 8 * 100 + at) } });
        let checks: Vec<_> = (0..100).map(user).collect();
        let gate = &tenant.stack.gates[turn % 2];
        tenant.ask(gate, "/check/batch", &json!({ "checks": checks })).await.expect(200);
    }
    until(seconds(30), "all checks were seen", async || recorded(&tenant).await.0 == 8_000).await;
    let (_, count) = recorded(&tenant).await;
    let run = json!({ "rule": body(5), "rule_id": id, "source": "recorded" });
    let answer = tenant.admin(Method::POST, "/simulate", &run).await.expect(200);
    let rate = answer.body["certainty"]["rate"].as_f64().expect("a share");
    assert!(rate < 1.0 && count < 8_000, "{count} recorded, rate {rate}");
    let subjects = answer.number("/certainty/subjects");
    assert!(subjects > 20, "{subjects}");
    assert_eq!(answer.number("/present/denied"), 2 * subjects);
    assert_eq!(answer.number("/candidate/denied"), 5 * subjects);
    print(&format!(
        "of 8000 checks {count} were recorded; {subjects} of 800 subjects are complete, rate {rate:.3}"
    ));
}
