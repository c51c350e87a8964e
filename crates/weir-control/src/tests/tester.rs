//! The tester and the reset, with real counters.

use serde_json::{Value, json};

use super::support::{Member, Plane};

async fn rule(plane: &Plane, member: &Member, body: Value) -> String {
    plane.by(member, "POST", "rules").json(&body).send().await.expect(201).text("/id")
}

#[tokio::test]
async fn tester_says_what_matches_why_not_and_what_is_left() {
    let plane = Plane::start().await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let limits = json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 60_000 }]);
    rule(
        &plane,
        &ada,
        json!({ "name": "per-user", "count_by": ["user"], "limits": limits,
        "match": [{ "attribute": "route", "op": "equals", "value": "/login" }] }),
    )
    .await;
    rule(&plane, &ada, json!({ "name": "per-ip", "count_by": ["ip"], "limits": limits })).await;
    rule(&plane, &ada, json!({ "name": "shadow", "action": "deny", "mode": "shadow" })).await;
    rule(&plane, &ada, json!({ "name": "off", "action": "deny", "mode": "off" })).await;
    let test = |attributes: Value| {
        plane.by(&ada, "POST", "test").json(&json!({ "attributes": attributes, "cost": 2 })).send()
    };
    let answer = test(json!({ "user": "u-1", "route": "/login" })).await.expect(200);
    assert_eq!((&answer.body["allowed"], &answer.body["denied_by"]), (&json!(true), &json!([])));
    let rules = answer.body["rules"].as_array().expect("a list");
    let names: Vec<_> =
        rules.iter().map(|rule| rule["rule"].as_str().unwrap_or_default()).collect();
    assert_eq!(names, ["per-user", "per-ip", "shadow", "off"]);
    assert_eq!(rules[0]["matches"], true);
    assert_eq!(rules[0]["subject"], json!({ "user": "u-1" }));
    assert_eq!(rules[0]["limits"][0]["remaining"], 5, "nothing is counted");
    assert_eq!(rules[1]["missing_attribute"], "ip");
    assert_eq!((&rules[2]["would_pass"], &rules[2]["action"]), (&json!(false), &json!("deny")));

    let answer = test(json!({ "user": "u-1", "route": "/mail" })).await.expect(200);
    let failed = &answer.body["rules"][0]["failed_condition"];
    assert_eq!((&failed["position"], &failed["actual"]), (&json!(0), &json!("/mail")));
    assert_eq!(answer.body["rules"][0]["subject"], Value::Null);
    assert_eq!(test(json!({ "User": "u" })).await.refused_field(), "attributes.User");
}

#[tokio::test]
async fn tester_follows_overrides_and_outright_rules() {
    let plane = Plane::start().await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let limits = json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 60_000 }]);
    let id =
        rule(&plane, &ada, json!({ "name": "per-user", "count_by": ["user"], "limits": limits }))
            .await;
    for (user, effect) in [("barred", json!("deny")), ("free", json!("allow"))] {
        let body = json!({ "rule_id": id, "subject": { "user": user }, "action": effect });
        plane.by(&ada, "POST", "overrides").json(&body).send().await.expect(201);
    }
    let test = |user: &str, cost: u32| {
        let body = json!({ "attributes": { "user": user }, "cost": cost });
        plane.by(&ada, "POST", "test").json(&body).send()
    };
    let barred = test("barred", 1).await.expect(200);
    assert_eq!(barred.body["denied_by"], json!(["per-user"]));
    assert!(barred.text("/rules/0/override_id").starts_with("override_"));
    assert_eq!(test("free", 9).await.expect(200).body["allowed"], true);
    let dear = test("other", 9).await.expect(200);
    assert_eq!(
        (&dear.body["allowed"], &dear.body["denied_by"]),
        (&json!(false), &json!(["per-user"]))
    );
    assert_eq!(dear.body["rules"][0]["limits"][0]["retry_after_ms"], Value::Null, "never");

    rule(
        &plane,
        &ada,
        json!({ "name": "vip", "action": "allow",
        "match": [{ "attribute": "user", "op": "one_of", "value": ["other", "barred"] }] }),
    )
    .await;
    assert_eq!(test("other", 9).await.expect(200).body["allowed"], true);
    assert_eq!(test("barred", 1).await.expect(200).body["allowed"], false);
}

#[tokio::test]
async fn reset_forgets_a_subject_and_says_so_in_the_log() {
    let plane = Plane::start().await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("eve@example.com").await;
    let limits = json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 60_000 }]);
    let body = json!({ "name": "per-user", "count_by": ["user"], "limits": limits });
    let (id, others) = (rule(&plane, &ada, body.clone()).await, rule(&plane, &eve, body).await);
    let reset = |rule: &str, subject: Value| {
        let body = json!({ "rule_id": rule, "subject": subject });
        plane.by(&ada, "POST", "counters/reset").json(&body).send()
    };
    assert_eq!(reset(&id, json!({ "user": "u-1" })).await.expect(200).body["counters"], 0);
    plane.consume(&ada, &id, "u-1").await;
    assert_eq!(reset(&id, json!({ "user": "u-1" })).await.expect(200).body["counters"], 1);
    assert_eq!(reset(&id, json!({})).await.refused_field(), "subject.user");
    assert_eq!(reset(&id, json!({ "user": "a", "ip": "b" })).await.refused_field(), "subject.ip");
    assert_eq!(reset(&others, json!({ "user": "u-1" })).await.refused_field(), "rule_id");
    let entries = counter_entries(&plane, &ada).await;
    let actions: Vec<_> = entries.iter().map(|entry| entry["action"].clone()).collect();
    let (requested, done) = (json!("counters.reset_requested"), json!("counters.reset"));
    assert_eq!(actions, [&requested, &done, &requested, &done].map(Clone::clone));
    assert_eq!(entries[3]["after"], json!({ "subject": { "user": "u-1" }, "counters": 1 }));
    let found = plane.by(&ada, "GET", "audit?action=rule&actor=ADA@&search=PER-USER");
    let found = found.send().await.expect(200);
    assert_eq!(found.text("/data/0/action"), "rule.create");
    assert_eq!(found.body["data"].as_array().map(Vec::len), Some(1));
    let never = plane.by(&ada, "GET", "audit?to=2020-01-01T00:00:00Z").send().await.expect(200);
    assert_eq!(never.body["data"], json!([]));
}

#[tokio::test]
async fn inspection_ignores_the_conditions_of_the_rule() {
    let plane = Plane::start().await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let limits = json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 60_000 }]);
    let body = json!({ "name": "per-user", "count_by": ["user"], "limits": limits,
        "match": [{ "attribute": "route", "op": "regex", "value": "^/v[12]/" }] });
    let id = rule(&plane, &ada, body).await;
    let barred = json!({ "rule_id": id, "subject": { "user": "barred" }, "action": "deny" });
    plane.by(&ada, "POST", "overrides").json(&barred).send().await.expect(201);
    plane.consume(&ada, &id, "u-1").await;
    let inspect = |subjects: Value| {
        let body = json!({ "rule_id": id, "subjects": subjects });
        plane.by(&ada, "POST", "counters/inspect").json(&body).send()
    };
    let subjects = json!([{ "user": "u-1" }, { "user": "barred" }, { "user": "u-2" }]);
    let seen = inspect(subjects.clone()).await.expect(200);
    let left = |at: usize| seen.body["data"][at]["limits"][0]["remaining"].clone();
    assert_eq!((left(0), left(2)), (json!(4), json!(5)));
    assert_eq!(seen.body["data"][0]["limits"][0]["limit"], 5);
    assert_eq!(seen.text("/data/1/action"), "deny");
    assert_eq!(seen.body["data"][1]["limits"], json!([]));
    let again = inspect(subjects).await.expect(200);
    assert_eq!(again.body["data"][0]["limits"][0]["remaining"], 4, "nothing is counted");
    assert_eq!(inspect(json!([])).await.refused_field(), "subjects");
    assert_eq!(inspect(json!([{ "ip": "a" }])).await.refused_field(), "subject.ip");
}

/// The entries about counters in the order of the log.
async fn counter_entries(plane: &Plane, member: &Member) -> Vec<Value> {
    let log = plane.by(member, "GET", "audit?action=counters").send().await.expect(200);
    let mut entries = log.body["data"].as_array().expect("a list").clone();
    entries.sort_by_key(|entry| entry["seq"].as_u64());
    entries
}

#[tokio::test]
async fn reset_locks_no_row_while_it_waits_for_redis_and_leaves_a_trace_if_it_fails() {
    let (plane, relay) = Plane::over_relay().await;
    let ada = plane.member("ada@example.com").await;
    let limits = json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 60_000 }]);
    let body = json!({ "name": "per-user", "count_by": ["user"], "limits": limits });
    let id = rule(&plane, &ada, body).await;
    let body = json!({ "rule_id": id, "subject": { "user": "u-1" } });
    let reset =
        || plane.by(&ada, "POST", "counters/reset").header("idempotency-key", "r-1").json(&body);
    let actions = async || {
        let entries = counter_entries(&plane, &ada).await;
        let action = |entry: &Value| entry["action"].as_str().expect("a text").to_owned();
        entries.iter().map(action).collect::<Vec<_>>()
    };
    relay.silence();
    relay.set_deaf(true);
    let while_it_waits = async {
        while actions().await.is_empty() {
            tokio::task::yield_now().await;
        }
        // Another change of the tenant waits for the row that a transaction of the reset would lock.
        let renamed = json!({ "name": "Renamed" });
        plane.by(&ada, "PATCH", "").json(&renamed).send().await.expect(200);
        assert_eq!(actions().await, ["counters.reset_requested"]);
        reset().send().await.problem(409, "conflict");
    };
    let (refused, ()) = tokio::join!(reset().send(), while_it_waits);
    refused.problem(503, "unavailable");
    assert_eq!(actions().await, ["counters.reset_requested", "counters.reset_failed"]);

    relay.set_deaf(false);
    plane.limiter_up().await;
    let again = async {
        while reset().send().await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), again).await.expect("Redis is back");
    let last = actions().await.pop();
    assert_eq!(last.as_deref(), Some("counters.reset"), "a failed request can be repeated");
}
