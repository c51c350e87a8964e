//! What-if runs over the API, with checks that gates recorded and with traces.

use std::time::Duration;

use serde_json::{Value, json};
use weir_domain::id::{GateId, TenantId};
use weir_domain::sample::{ALL, mark};
use weir_domain::time::Timestamp;
use weir_store::{Flush, SampleHead, SampleRow, Scope};
use weir_wire::recorded_checks::RecordedChecks;

use super::support::{Member, Plane};

fn rule(limit: u64) -> Value {
    let limit = json!({ "algorithm": "fixed_window", "limit": limit, "window_ms": 60_000 });
    json!({ "name": "per-user", "count_by": ["user"], "limits": [limit] })
}

/// Records checks as a gate does: each user sends this number of checks, a second apart, from the start of a minute.
async fn record(plane: &Plane, member: &Member, since: i64, users: &[(&str, u32)], threshold: u32) {
    let tenant_id: TenantId = member.tenant.parse().expect("an id");
    let mut recorded = RecordedChecks::default();
    for (place, (user, checks)) in (0..).zip(users) {
        let by_mark = mark(&["user".into()], |_| Some(user));
        if by_mark <= Some(threshold) {
            recorded.values.push(vec![Some((*user).to_owned())]);
            let place = u32::try_from(recorded.values.len() - 1).expect("few");
            recorded.checks.extend((0..*checks).map(|at| (at * 1_000 + place, place, 1)));
        }
        let _: u32 = place;
    }
    recorded.checks.sort_unstable();
    let gate_id = GateId::from_u128(9);
    let (since, until) = (Timestamp::from_millis(since), Timestamp::from_millis(since + 60_000));
    let flush =
        Flush { gate_id, boot_id: 9, region: None, oldest_minute: since, age: Duration::ZERO };
    let head = SampleHead {
        namespace: "default".to_owned(),
        since,
        until,
        threshold,
        seen: users.iter().map(|user| u64::from(user.1)).sum(),
        recorded: recorded.checks.len() as u64,
        lost: 0,
        plan: json!({ "attributes": ["user"], "count_by": [["user"]] }),
    };
    let checks = serde_json::to_string(&recorded).expect("serialises");
    let mut tx = plane.database.gate.begin("tests", Scope::Gate(gate_id)).await.expect("begin");
    tx.samples()
        .write(&flush, &[SampleRow { tenant_id, part: 0, head, checks }])
        .await
        .expect("write");
    tx.commit().await.expect("commit");
}

/// The start of the minute before the last one.
fn minute(plane: &Plane) -> i64 {
    (plane.now_ms() / 60_000 - 2) * 60_000
}

async fn simulate(plane: &Plane, member: &Member, body: Value) -> super::support::Answer {
    plane.by(member, "POST", "simulate").json(&body).send().await
}

#[tokio::test]
async fn recorded_checks_are_replayed_by_both_rules() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let id = plane.by(&ada, "POST", "rules").json(&rule(10)).send().await.expect(201).text("/id");
    let body = json!({ "rule": rule(5), "rule_id": id, "source": "recorded" });
    simulate(&plane, &ada, body.clone()).await.problem(409, "conflict");
    record(&plane, &ada, minute(&plane), &[("ada", 12), ("bob", 7), ("cleo", 3)], ALL).await;

    let recorded = plane.by(&ada, "GET", "recorded").send().await.expect(200);
    assert_eq!(recorded.body["recording"], true);
    let of_default = &recorded.body["data"][0];
    assert_eq!((&of_default["seen"], &of_default["rate"]), (&json!(22), &json!(1.0)));

    let answer = simulate(&plane, &ada, body).await.expect(200).body;
    let sums = |side: &str| (answer[side]["allowed"].clone(), answer[side]["denied"].clone());
    assert_eq!(sums("present"), (json!(20), json!(2)));
    assert_eq!(sums("candidate"), (json!(13), json!(9)));
    assert_eq!(answer["subjects"]["more_denied"], 2);
    assert_eq!(answer["subjects"]["data"][0]["subject"], json!({ "user": "ada" }));
    assert_eq!(answer["certainty"]["rate"], 1.0);
    assert_eq!(answer["certainty"]["denied_after"]["share"], json!(9.0 / 22.0));
    assert_eq!(answer["warmup_needed_ms"], 60_000);
    let points = answer["candidate"]["denied_series"].as_array().expect("a series");
    assert!(points.len() <= 200);
    assert_eq!(points.iter().filter_map(Value::as_u64).sum::<u64>(), 9);
}

#[tokio::test]
async fn plans_apply_as_they_are_now_and_as_they_would_be() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let attribute = json!({ "customer_attribute": "user" });
    plane.by(&ada, "PATCH", "").json(&attribute).send().await.expect(200);
    let id = plane.by(&ada, "POST", "rules").json(&rule(10)).send().await.expect(201).text("/id");
    let rules = |limit: u64| {
        let limits = rule(limit)["limits"].clone();
        json!([{ "namespace": "default", "rule": "per-user", "limits": limits }])
    };
    let pro = json!({ "name": "pro", "rules": rules(100) });
    let pro = plane.by(&ada, "POST", "plans").json(&pro).send().await.expect(201).text("/id");
    let assign = json!({ "customer": "ada", "plan": pro });
    plane.by(&ada, "POST", "assignments").json(&assign).send().await.expect(201);
    record(&plane, &ada, minute(&plane), &[("ada", 30), ("bob", 12), ("cleo", 3)], ALL).await;
    let run = async |mut changes: Value| {
        changes["rule"] = rule(10);
        changes["rule_id"] = json!(id);
        changes["source"] = json!("recorded");
        simulate(&plane, &ada, changes).await
    };
    let denied = |answer: &Value| {
        [&answer["present"]["denied"], &answer["candidate"]["denied"]].map(Value::as_u64)
    };
    let same = run(json!({})).await.expect(200).body;
    assert_eq!(denied(&same), [Some(2), Some(2)], "ada has 100, as a customer on the plan");

    let smaller = json!({ "plan": { "id": pro, "rules": rules(25) } });
    let smaller = run(smaller).await.expect(200).body;
    assert_eq!(denied(&smaller), [Some(2), Some(7)]);
    assert_eq!(smaller["subjects"]["more_denied"], 1);
    assert_eq!(smaller["subjects"]["data"][0]["subject"], json!({ "user": "ada" }));

    let moved =
        json!({ "assignments": [{ "customer": "ada" }, { "customer": "bob", "plan": pro }] });
    let moved = run(moved).await.expect(200).body;
    assert_eq!(denied(&moved), [Some(2), Some(20)], "ada has 10 then, and bob 100");
    assert_eq!(
        (&moved["subjects"]["more_denied"], &moved["subjects"]["less_denied"]),
        (&json!(1), &json!(1))
    );

    let unknown = "plan_01M7Y73RFB8PD7BJ7QNA0B7ZZ9";
    for (changes, field) in [
        (json!({ "plan": { "id": unknown, "rules": [] } }), "plan.id"),
        (json!({ "plan": { "id": pro, "rules": rules(0) } }), "plan.rules[0].limits[0].limit"),
        (json!({ "assignments": [{ "customer": "ada", "plan": unknown }] }), "assignments[0].plan"),
        (json!({ "assignments": [{ "customer": "a\nb" }] }), "assignments[0].customer"),
    ] {
        assert_eq!(run(changes).await.refused_field(), field);
    }
    let new =
        json!({ "rule": rule(10), "source": "recorded", "assignments": [{ "customer": "ada" }] });
    assert_eq!(simulate(&plane, &ada, new).await.refused_field(), "rule_id");
}

#[tokio::test]
async fn variants_are_replayed_beside_each_other_with_the_time_that_an_experiment_needs() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let since = minute(&plane);
    let users: Vec<String> = (0..40).map(|user| format!("u-{user}")).collect();
    // The users send 1 to 40 checks.
    let sent: Vec<_> = users.iter().map(String::as_str).zip(1..).collect();
    record(&plane, &ada, since, &sent, ALL).await;
    let limits =
        |limit: u64| json!([{ "algorithm": "fixed_window", "limit": limit, "window_ms": 60_000 }]);
    let variant =
        |name: &str, limit| json!({ "name": name, "percent": 50, "limits": limits(limit) });
    let with = |variants: Value| {
        let rule = json!({ "name": "per-user", "count_by": ["user"], "variants": variants });
        json!({ "rule": rule, "source": "recorded" })
    };
    let answer =
        simulate(&plane, &ada, with(json!([variant("strict", 10), variant("wide", 20)]))).await;
    let answer = answer.expect(200);
    let found = &answer.body["variants"];
    assert_eq!(found[0]["name"], "strict");
    // Above 10: users of 11 to 40 checks; above 20: those of 21 to 40.
    assert_eq!(
        (&found[0]["subjects_denied"], &found[1]["subjects_denied"]),
        (&json!(30), &json!(20))
    );
    assert_eq!((&found[0]["denied"], &found[1]["denied"]), (&json!(465), &json!(210)));
    assert!(found[0]["needed_s"].is_null() && found[1]["needed_s"].as_u64() > Some(0), "{found}");
    let equal = with(json!([variant("strict", 10), variant("same", 10)]));
    let equal = simulate(&plane, &ada, equal).await.expect(200);
    assert!(equal.body["variants"][1]["needed_s"].is_null());
    let none = json!({ "rule": rule(10), "source": "recorded" });
    let none = simulate(&plane, &ada, none).await.expect(200);
    assert_eq!(none.body["variants"], json!([]));
}

#[tokio::test]
async fn sample_of_subjects_says_how_sure_it_is_and_what_it_cannot_answer() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let names: Vec<String> = (0..400).map(|at| format!("u-{at}")).collect();
    let users: Vec<_> = names.iter().map(|name| (name.as_str(), 6)).collect();
    record(&plane, &ada, minute(&plane), &users, ALL / 4).await;
    let answer = simulate(&plane, &ada, json!({ "rule": rule(4), "source": "recorded" })).await;
    let answer = answer.expect(200).body;
    let certainty = &answer["certainty"];
    assert!((certainty["rate"].as_f64().expect("a share") - 0.25).abs() < 1e-6);
    let subjects = certainty["subjects"].as_u64().expect("a count");
    assert!((70..130).contains(&subjects), "{subjects}");
    assert_eq!(answer["candidate"]["denied"], 2 * subjects, "each subject is whole");
    assert!(
        (certainty["denied_after"]["share"].as_f64().expect("a share") - 1.0 / 3.0).abs() < 1e-9
    );

    let mut together = rule(4);
    together["count_by"] = json!([]);
    let refused = simulate(&plane, &ada, json!({ "rule": together, "source": "recorded" })).await;
    refused.problem(409, "conflict");
    let mut other = rule(4);
    other["count_by"] = json!(["ip"]);
    let refused = simulate(&plane, &ada, json!({ "rule": other, "source": "recorded" })).await;
    assert!(refused.problem(409, "conflict").text("/detail").contains("`ip`"));
}

#[tokio::test]
async fn warm_up_is_taken_from_the_record_and_said() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let begin = minute(&plane);
    record(&plane, &ada, begin, &[("ada", 30)], ALL).await;
    let from = weir_wire::time::DateTime(Timestamp::from_millis(begin + 20_000)).text();
    let body = json!({ "rule": rule(25), "source": "recorded", "from": from });
    let answer = simulate(&plane, &ada, body).await.expect(200).body;
    assert_eq!(answer["warmup_ms"], 20_000);
    assert_eq!(
        (&answer["candidate"]["allowed"], &answer["candidate"]["denied"]),
        (&json!(5), &json!(5))
    );
    assert!(
        answer["warnings"][0].as_str().expect("a sentence").contains("empty 20 seconds before")
    );
    let late = json!({ "rule": rule(25), "source": "recorded", "to": "2001-01-01T00:00:00Z",
        "from": "2000-01-01T00:00:00Z" });
    assert_eq!(simulate(&plane, &ada, late).await.refused_field(), "to");
}

#[tokio::test]
async fn trace_is_replayed_and_its_errors_have_a_place() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let ask = |format: &str, text: &str| {
        let trace = json!({ "format": format, "text": text });
        simulate(&plane, &ada, json!({ "rule": rule(1), "source": "trace", "trace": trace }))
    };
    let answer = ask("csv", "time,user\n1000,ada\n2000,ada\n3000,bob\n").await.expect(200).body;
    assert_eq!(
        (&answer["candidate"]["allowed"], &answer["candidate"]["denied"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(answer["certainty"]["rate"], 1.0);
    assert_eq!(answer["from"], "1970-01-01T00:00:01Z");
    let wrong = ask("csv", "time,user\n1000,ada\nnoon,ada\n").await;
    let wrong = wrong.problem(422, "invalid");
    assert_eq!(wrong.text("/fields/0/field"), "trace.text");
    assert!(wrong.text("/fields/0/reason").starts_with("line 3, column 1: "));
    let large = format!("time,user\n{}", "1000,ada\n".repeat(40_000));
    let answer = ask("csv", &large).await.expect(200).body;
    assert_eq!(answer["candidate"]["denied"], 39_999);
    let missing = json!({ "rule": rule(1), "source": "trace" });
    assert_eq!(simulate(&plane, &ada, missing).await.refused_field(), "trace");
    let mut wrong = rule(1);
    wrong["name"] = json!("Not A Name");
    let wrong = json!({ "rule": wrong, "source": "recorded" });
    assert_eq!(simulate(&plane, &ada, wrong).await.refused_field(), "rule.name");
}

#[tokio::test]
async fn recording_can_be_turned_off_and_on() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let off = json!({ "record_checks": false });
    let answer = plane.by(&ada, "PATCH", "").json(&off).send().await.expect(200);
    assert_eq!(
        (&answer.body["record_checks"], &answer.body["name"]),
        (&json!(false), &json!("Acme"))
    );
    let recorded = plane.by(&ada, "GET", "recorded").send().await.expect(200);
    assert_eq!(recorded.body["recording"], false);
    assert_eq!(plane.by(&ada, "PATCH", "").json(&json!({})).send().await.refused_field(), "body");
    let both = json!({ "record_checks": true, "name": "Acme II" });
    let answer = plane.by(&ada, "PATCH", "").json(&both).send().await.expect(200);
    assert_eq!(answer.body["record_checks"], true);
}

/// A tenant has one run at a time. Other runs get an answer later, or 429 with the time to retry.
#[tokio::test]
async fn second_run_of_a_tenant_is_asked_to_wait() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let trace =
        json!({ "format": "csv", "text": format!("time,user\n{}", "1000,ada\n".repeat(40_000)) });
    let body = json!({ "rule": rule(1), "source": "trace", "trace": trace });
    let run = || simulate(&plane, &ada, body.clone());
    let answers = futures_util::future::join_all([run(), run(), run()]).await;
    let statuses: Vec<_> = answers.iter().map(|answer| answer.status.as_u16()).collect();
    assert!(statuses.contains(&200), "{statuses:?}");
    for answer in answers.into_iter().filter(|answer| answer.status != 200) {
        assert_eq!(answer.headers["retry-after"], "2");
        answer.problem(429, "too_many_requests");
    }
}

/// A limit whose bucket takes thousands of years to fill also finds the recorded checks.
#[tokio::test]
async fn limits_that_remember_for_ever_are_replayed_too() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    record(&plane, &ada, minute(&plane), &[("ada", 12)], ALL).await;
    let limit = json!({ "algorithm": "token_bucket", "capacity": 26_000, "refill_tokens": 1,
        "refill_interval_ms": 86_400_000 });
    let rule = json!({ "name": "per-user", "count_by": ["user"], "limits": [limit] });
    let body = json!({ "rule": rule, "source": "recorded", "from": "0001-01-01T00:00:00Z" });
    let answer = simulate(&plane, &ada, body).await.expect(200).body;
    assert_eq!(answer["candidate"]["allowed"], 12);
}

/// The acceptance of suggestions: replayed on the same record, the limit denies no more than the requested share of the
/// subjects, and the next smaller limit denies more.
#[tokio::test]
async fn suggested_limit_denies_no_more_than_the_requested_share() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let names: Vec<String> = (0..40).map(|at| format!("u-{at}")).collect();
    let users: Vec<_> = (1..).zip(&names).map(|(at, name)| (name.as_str(), at)).collect();
    let begin = minute(&plane);
    record(&plane, &ada, begin, &users, ALL).await;
    let window_ms = 7_000;
    for name in weir_wire::limits::AlgorithmName::ALL {
        let algorithm = name.as_str();
        let body = json!({ "namespace": "default", "count_by": ["user"], "algorithm": algorithm,
            "window_ms": window_ms, "share_denied": 0.1 });
        let answer = plane.by(&ada, "POST", "rules/suggest").json(&body).send().await;
        if ["spacing", "quota", "concurrency"].contains(&algorithm) {
            assert_eq!(answer.refused_field(), "algorithm");
            continue;
        }
        let suggested = answer.expect(200).body;
        assert_eq!((&suggested["subjects"], &suggested["checks"]), (&json!(40), &json!(820)));
        assert_eq!(suggested["high"], suggested["limit"], "every subject is recorded");
        let denied = async |limit: &Value| {
            let rule = json!({ "name": "new", "count_by": ["user"], "limits": [limit] });
            let body = json!({ "rule": rule, "source": "recorded" });
            let answer = simulate(&plane, &ada, body).await.expect(200).body;
            answer["subjects"]["more_denied"].as_u64().expect("a count")
        };
        assert!(denied(&suggested["body"]).await <= 4, "{algorithm}: {suggested:#}");
        let limit = suggested["limit"].as_u64().expect("a limit");
        let mut smaller = suggested["body"].clone();
        for parameter in ["limit", "capacity", "refill_tokens", "drain_units"] {
            if let Some(units) = smaller.get_mut(parameter) {
                *units = (limit - 1).into();
            }
        }
        assert!(denied(&smaller).await > 4, "{algorithm}: {smaller}");
        let candidates = suggested["candidates"].as_array().expect("a list");
        let of_limit = candidates.iter().find(|one| one["limit"] == suggested["limit"]);
        assert!(of_limit.expect("it is among them")["subjects_denied"].as_u64() <= Some(4));
        let last = candidates.last().expect("some");
        assert_eq!((&last["subjects_denied"], &last["checks_denied"]), (&json!(0), &json!(0)));
    }
}

#[tokio::test]
async fn suggestion_names_what_is_wrong_with_the_question() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let good = json!({ "namespace": "default", "count_by": ["user"], "algorithm": "token_bucket",
        "window_ms": 1_000 });
    let ask = async |field: &str, value: Value| {
        let mut body = good.clone();
        body[field] = value;
        plane.by(&ada, "POST", "rules/suggest").json(&body).send().await
    };
    for (field, value) in [
        ("share_denied", json!(0.6)),
        ("share_denied", json!(-0.1)),
        ("count_by", json!([])),
        ("window_ms", json!(0)),
        ("namespace", json!("No")),
    ] {
        assert_eq!(ask(field, value.clone()).await.refused_field(), field, "{value}");
    }
    ask("share_denied", json!(0.0)).await.problem(409, "conflict");
    record(&plane, &ada, minute(&plane), &[("ada", 12)], ALL).await;
    let other = json!([{ "attribute": "user", "op": "equals", "value": "bob" }]);
    ask("match", other).await.problem(409, "conflict");
    let alone = ask("share_denied", json!(0.0)).await.expect(200);
    assert!(alone.body["warnings"].to_string().contains("subjects is 1"), "{:#}", alone.body);
}
