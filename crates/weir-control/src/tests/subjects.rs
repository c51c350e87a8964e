//! One subject across all rules: inspection, raise, allow and block.

use serde_json::{Value, json};
use weir_domain::id::{DenialId, GateId, RuleId, TenantId};
use weir_domain::time::Timestamp;
use weir_store::{
    DenialDetail, DenialRow, Flush, SKETCH_MS, Scope, SketchEntry, SketchRow, TallyCounts, TallyRow,
};

use super::support::{Answer, Member, Plane};

const HOUR_S: i64 = 3_600;
/// A window that does not end during a test, unless it runs at midnight.
const DAY_MS: i64 = 86_400_000;
/// Less than the lifetime of an access token.
const FIVE_MINUTES_S: i64 = 300;

async fn rule(plane: &Plane, member: &Member, body: Value) -> String {
    plane.by(member, "POST", "rules").json(&body).send().await.expect(201).text("/id")
}

fn per_day(name: &str, count_by: &Value, limit: u64) -> Value {
    let limits = json!([{ "algorithm": "fixed_window", "limit": limit, "window_ms": DAY_MS }]);
    json!({ "name": name, "count_by": count_by, "limits": limits })
}

async fn inspect(plane: &Plane, member: &Member, attributes: Value) -> Answer {
    let body = json!({ "attributes": attributes });
    plane.by(member, "POST", "subjects/inspect").json(&body).send().await
}

async fn change(plane: &Plane, member: &Member, operation: &str, body: Value) -> Answer {
    plane.by(member, "POST", &format!("subjects/{operation}")).json(&body).send().await
}

#[tokio::test]
async fn inspection_of_a_subject_shows_every_rule_that_counts_it() {
    let plane = Plane::start().await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("eve@example.com").await;
    let id = rule(&plane, &ada, per_day("per-user", &json!(["user"]), 5)).await;
    let mut other = per_day("per-user", &json!(["user"]), 7);
    other["namespace"] = "mail".into();
    other["mode"] = "shadow".into();
    rule(&plane, &ada, other).await;
    rule(&plane, &ada, per_day("user-and-ip", &json!(["user", "ip"]), 9)).await;
    rule(&plane, &ada, per_day("global", &json!([]), 1000)).await;
    rule(&plane, &eve, per_day("foreign", &json!(["user"]), 5)).await;
    let starred = json!({ "rule_id": id, "subject": { "user": "*" },
        "limits": [{ "algorithm": "fixed_window", "limit": 6, "window_ms": DAY_MS }] });
    plane.by(&ada, "POST", "overrides").json(&starred).send().await.expect(201);
    plane.consume(&ada, &id, "u-1").await;

    let seen = inspect(&plane, &ada, json!({ "user": "u-1" })).await.expect(200);
    let rules = seen.body["data"].as_array().expect("a list");
    let shown = |rule: &Value| {
        (rule["namespace"].clone(), rule["rule"].clone(), rule["limits"][0]["remaining"].clone())
    };
    let expected = [
        (json!("default"), json!("per-user"), json!(5)),
        (json!("mail"), json!("per-user"), json!(7)),
    ];
    assert_eq!(rules.iter().map(shown).collect::<Vec<_>>(), expected);
    assert_eq!(rules[0]["override"]["subject"], json!({ "user": "*" }));
    assert_eq!((&rules[1]["override"], &rules[1]["mode"]), (&Value::Null, &json!("shadow")));
    assert_eq!((&seen.body["truncated"], &seen.body["denials"]), (&json!(false), &json!([])));

    let both = inspect(&plane, &ada, json!({ "user": "u-1", "ip": "::1" })).await.expect(200);
    assert_eq!(both.body["data"].as_array().map(Vec::len), Some(3));
    let again = inspect(&plane, &ada, json!({ "user": "u-1" })).await.expect(200);
    let left = &again.body["data"][0]["limits"][0]["remaining"];
    assert_eq!(left, &json!(5), "nothing is counted");

    assert_eq!(inspect(&plane, &ada, json!({})).await.refused_field(), "attributes");
    assert_eq!(
        inspect(&plane, &ada, json!({ "User": "u" })).await.refused_field(),
        "attributes.User"
    );
    let body = json!({ "attributes": { "user": "u" }, "namespace": "No" });
    let asked = plane.by(&ada, "POST", "subjects/inspect").json(&body).send().await;
    assert_eq!(asked.refused_field(), "namespace");
}

#[tokio::test]
async fn subject_is_inspected_and_blocked_while_redis_does_not_answer() {
    let (plane, relay) = Plane::over_relay().await;
    let ada = plane.member("ada@example.com").await;
    let id = rule(&plane, &ada, per_day("per-user", &json!(["user"]), 5)).await;
    let mut other = per_day("per-user", &json!(["user"]), 7);
    other["namespace"] = "mail".into();
    rule(&plane, &ada, other).await;
    relay.silence();
    relay.set_deaf(true);

    let seen = inspect(&plane, &ada, json!({ "user": "u-1" })).await.expect(200);
    for (at, limit) in [(0, 5), (1, 7)] {
        let unread = &seen.body["data"][at]["limits"][0];
        assert_eq!((&unread["limit"], &unread["remaining"]), (&json!(limit), &Value::Null));
        assert_eq!(
            (&unread["reset_after_ms"], &unread["window_ms"]),
            (&Value::Null, &json!(DAY_MS))
        );
    }
    let block = json!({ "rule_id": id, "subject": { "user": "u-1" }, "for_s": 60 });
    change(&plane, &ada, "block", block).await.expect(201);
    let seen = inspect(&plane, &ada, json!({ "user": "u-1" })).await.expect(200);
    assert_eq!(seen.text("/data/0/action"), "deny");
}

#[tokio::test]
async fn inspection_of_a_subject_lists_its_denials_only() {
    let plane = Plane::start().await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let long = "x".repeat(300);
    let tenant_id: TenantId = ada.tenant.parse().expect("an id");
    let gate_id = GateId::from_u128(7);
    let now = Timestamp::from_millis(plane.now_ms());
    let denied = |number: u128, subject: Value| DenialRow {
        id: DenialId::new(now, number),
        tenant_id,
        at: now,
        namespace: "default".to_owned(),
        rule_id: RuleId::from_u128(1),
        rule: "per-user".to_owned(),
        shadow: false,
        subject,
        cost: 1,
        retry_after_ms: Some(1000),
        degraded: false,
        stands_for: 1,
        detail: DenialDetail::default(),
    };
    let rows = [
        denied(1, json!({ "user": "u-1" })),
        denied(2, json!({ "user": "u-2" })),
        denied(3, json!({ "user": "u-1", "ip": "::1" })),
        denied(4, json!({})),
        // Gates store the first 128 characters.
        denied(5, json!({ "user": long[..128] })),
    ];
    let flush = Flush {
        gate_id,
        boot_id: 1,
        region: None,
        oldest_minute: now,
        age: std::time::Duration::ZERO,
    };
    let mut tx = plane.database.gate.begin("tests", Scope::Gate(gate_id)).await.expect("begin");
    tx.denials().write(&flush, &rows).await.expect("written");
    tx.commit().await.expect("committed");
    let users = async |attributes: Value| {
        let seen = inspect(&plane, &ada, attributes).await.expect(200);
        let denials = seen.body["denials"].as_array().expect("a list").clone();
        denials.iter().map(|denial| denial["subject"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(users(json!({ "user": "u-1" })).await, [json!({ "user": "u-1" })]);
    assert_eq!(users(json!({ "user": "u-1", "ip": "::1" })).await.len(), 2);
    assert_eq!(users(json!({ "user": "u-3" })).await, [] as [Value; 0]);
    assert_eq!(users(json!({ "user": long })).await.len(), 1);
}

/// Writes 2,091 denials of a customer in 20 hours, of which the log has the newest 60, and 40 of which nothing tells whose they
/// were.
async fn wrote_history(plane: &Plane, member: &Member, rule: &str, customer: &Value) {
    let (tenant_id, rule_id): (TenantId, RuleId) =
        (member.tenant.parse().expect("an id"), rule.parse().expect("an id"));
    let gate_id = GateId::from_u128(7);
    let now = Timestamp::from_millis(plane.now_ms());
    let span = |back: i64| {
        Timestamp::from_millis((now.as_millis().div_euclid(SKETCH_MS) - back) * SKETCH_MS)
    };
    let spans = [(120, 1_500), (3, 505), (0, 86)];
    let sketch = |(back, denied)| {
        let subject = customer.clone();
        let entry = SketchEntry { rule_id, subject, checks: denied, denied, shadow_denied: 6 };
        SketchRow { tenant_id, at: span(back), checks: denied, floor: 0, entries: vec![entry] }
    };
    let minute = |(back, denied): (i64, u64)| TallyRow {
        tenant_id,
        rule_id: Some(rule_id),
        minute: span(back),
        namespace: "default".to_owned(),
        counts: TallyCounts { denied: denied - 6, shadow_denied: 6, ..TallyCounts::default() },
    };
    let denial = |number: u128| DenialRow {
        id: DenialId::new(now, number),
        tenant_id,
        at: now,
        namespace: "default".to_owned(),
        rule_id,
        rule: "per-customer".to_owned(),
        shadow: false,
        subject: customer.clone(),
        cost: 1,
        retry_after_ms: Some(1000),
        degraded: false,
        stands_for: 1,
        detail: DenialDetail::default(),
    };
    let flush = Flush {
        gate_id,
        boot_id: 1,
        region: None,
        oldest_minute: now,
        age: std::time::Duration::ZERO,
    };
    let mut tx = plane.database.gate.begin("tests", Scope::Gate(gate_id)).await.expect("begin");
    tx.tallies().report(&flush).await.expect("reported");
    let rows: Vec<_> = spans.into_iter().chain([(8, 40)]).map(minute).collect();
    tx.tallies().write(&flush, &rows).await.expect("written");
    tx.top_subjects().write(&flush, &spans.map(sketch)).await.expect("written");
    tx.denials().write(&flush, &(0..60).map(denial).collect::<Vec<_>>()).await.expect("written");
    tx.commit().await.expect("committed");
}

#[tokio::test]
async fn history_of_a_subject_is_not_bounded_by_the_log() {
    let plane = Plane::start().await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let id = rule(&plane, &ada, per_day("per-customer", &json!(["customer"]), 5)).await;
    let umbrella = json!({ "customer": "umbrella" });
    wrote_history(&plane, &ada, &id, &umbrella).await;
    let body = json!({ "attributes": umbrella, "history": true });
    let seen = plane.by(&ada, "POST", "subjects/inspect").json(&body).send().await.expect(200).body;
    assert_eq!(seen["denials"].as_array().map(Vec::len), Some(50));
    let column = |name: &str| -> Vec<(usize, u64)> {
        let steps = seen["history"][name].as_array().expect("a list");
        assert_eq!(steps.len(), 144, "{name}");
        let counts = steps.iter().map(|count| count.as_u64().expect("a count"));
        let back = (0..144).rev().zip(counts);
        back.filter(|(_, count)| *count > 0).collect()
    };
    assert_eq!(column("denied"), [(120, 1_494), (3, 499), (0, 80)]);
    assert_eq!(column("shadow_denied"), [(120, 6), (3, 6), (0, 6)]);
    assert_eq!(column("unknown"), [(8, 40)]);
    assert_eq!(seen["history"]["step_s"], 600);
    // The last hour begins with a whole step, and so contains the third and the present one.
    let by_rule = json!([{ "rule_id": id, "denied": 579, "shadow_denied": 12 }]);
    assert_eq!(seen["history"]["last_hour"], by_rule);

    let seen = inspect(&plane, &ada, umbrella.clone()).await.expect(200);
    assert_eq!(seen.body["history"], Value::Null, "only on request");
    let eve = plane.member("eve@example.com").await;
    rule(&plane, &eve, per_day("per-customer", &json!(["customer"]), 5)).await;
    let theirs = plane.by(&eve, "POST", "subjects/inspect").json(&body).send().await.expect(200);
    let counts = theirs.body["history"]["denied"].as_array().expect("a list").clone();
    assert!(counts.iter().all(|count| *count == 0), "another tenant's subject");
}

#[tokio::test]
async fn raise_multiplies_the_limits_of_a_subject_until_it_ends() {
    let plane = Plane::start().await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let id = rule(&plane, &ada, per_day("per-user", &json!(["user"]), 5)).await;
    let subject = json!({ "user": "u-1" });
    plane.consume(&ada, &id, "u-1").await;
    let raise =
        json!({ "rule_id": id, "subject": subject, "for_s": FIVE_MINUTES_S, "reason": "launch" });
    let raised = change(&plane, &ada, "raise", raise.clone()).await.expect(201);
    assert_eq!(raised.body["limits"][0]["limit"], 10);
    assert_eq!(raised.text("/reason"), "launch");
    let left = async || {
        let seen = inspect(&plane, &ada, subject.clone()).await.expect(200);
        seen.body["data"][0]["limits"][0]["remaining"].clone()
    };
    assert_eq!(left().await, 9, "used units stay used");

    // A second raise starts from the limits of the rule.
    let mut thrice = raise.clone();
    thrice["factor"] = 3.into();
    let again = change(&plane, &ada, "raise", thrice).await.expect(200);
    assert_eq!(
        (again.text("/id"), &again.body["limits"][0]["limit"]),
        (raised.text("/id"), &json!(15))
    );
    let mut shorter = raise.clone();
    shorter["for_s"] = 60.into();
    let refused = change(&plane, &ada, "raise", shorter).await.problem(409, "conflict");
    assert!(refused.text("/detail").contains("ends later"), "{:#}", refused.body);

    plane.advance(FIVE_MINUTES_S * 1000);
    assert_eq!(left().await, 4);
    change(&plane, &ada, "raise", raise).await.expect(200);
    let log = plane.by(&ada, "GET", "audit?action=override").send().await.expect(200);
    let actions = log.body["data"].as_array().expect("a list").iter();
    let actions: Vec<_> = actions.map(|entry| entry["action"].clone()).collect();
    assert_eq!(actions, ["override.update", "override.update", "override.create"]);
}

#[tokio::test]
async fn block_denies_a_subject_and_a_raise_does_not_lift_it() {
    let plane = Plane::start().await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let id = rule(&plane, &ada, per_day("per-user", &json!(["user"]), 5)).await;
    let body = json!({ "rule_id": id, "subject": { "user": "u-1" }, "for_s": HOUR_S });
    let blocked = change(&plane, &ada, "block", body.clone()).await.expect(201);
    let test = json!({ "attributes": { "user": "u-1" } });
    let tested = plane.by(&ada, "POST", "test").json(&test).send().await.expect(200);
    assert_eq!(tested.body["allowed"], false);
    let mut longer = body.clone();
    longer["for_s"] = (2 * HOUR_S).into();
    change(&plane, &ada, "raise", longer).await.problem(409, "conflict");

    let path = format!("overrides/{}", blocked.text("/id"));
    let etag = plane.by(&ada, "GET", &path).send().await.expect(200).etag();
    plane.by(&ada, "DELETE", &path).header("if-match", &etag).send().await.expect(204);
    let permanent = json!({ "rule_id": id, "subject": { "user": "u-1" }, "action": "allow" });
    plane.by(&ada, "POST", "overrides").json(&permanent).send().await.expect(201);
    let refused = change(&plane, &ada, "block", body).await.problem(409, "conflict");
    assert!(refused.text("/detail").contains("does not end"), "{:#}", refused.body);
}

#[tokio::test]
async fn an_allowed_subject_is_limited_again_by_itself() {
    let plane = Plane::start().await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let id = rule(&plane, &ada, per_day("per-user", &json!(["user"]), 5)).await;
    let subject = json!({ "user": "u-1" });
    let mut body = json!({ "rule_id": id, "subject": subject, "for_s": FIVE_MINUTES_S });
    let raised = change(&plane, &ada, "raise", body.clone()).await.expect(201);
    let allowed = change(&plane, &ada, "allow", body.clone()).await.expect(200);
    assert_eq!(allowed.text("/id"), raised.text("/id"), "the raise is replaced");
    assert_eq!(allowed.body["action"], "allow");
    let seen = inspect(&plane, &ada, subject.clone()).await.expect(200);
    assert_eq!(seen.body["data"][0]["action"], "allow");
    plane.advance(FIVE_MINUTES_S * 1_000);
    let seen = inspect(&plane, &ada, subject).await.expect(200);
    assert_eq!(seen.body["data"][0]["action"], "limit");
    body["for_s"] = HOUR_S.into();
    change(&plane, &ada, "allow", body.clone()).await.expect(200);
    body["for_s"] = FIVE_MINUTES_S.into();
    change(&plane, &ada, "allow", body).await.problem(409, "conflict");
}

#[tokio::test]
async fn temporary_overrides_name_what_is_wrong_and_change_nothing() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("eve@example.com").await;
    let id = rule(&plane, &ada, per_day("per-user", &json!(["user"]), 900_000_000_000)).await;
    let open = json!({ "name": "open", "action": "allow", "count_by": ["user"] });
    let open = rule(&plane, &ada, open).await;
    let good = json!({ "rule_id": id, "subject": { "user": "u-1" }, "for_s": HOUR_S });
    let wrong = [
        ("for_s", json!(59), "for_s"),
        ("for_s", json!(2_592_001), "for_s"),
        ("factor", json!(1), "factor"),
        ("factor", json!(101), "factor"),
        ("factor", json!(2), "factor"),
        ("subject", json!({ "user": "*" }), "subject.user"),
        ("subject", json!({ "ip": "::1" }), "subject.ip"),
        ("rule_id", json!(open), "rule_id"),
        ("rule_id", json!("rule_x"), "rule_id"),
        ("reason", json!("x".repeat(501)), "reason"),
    ];
    for (field, value, named) in wrong {
        let mut body = good.clone();
        body["factor"] = 1.into();
        body.as_object_mut().expect("an object").remove("factor");
        body[field] = value;
        if field == "reason" {
            change(&plane, &ada, "block", body).await.problem(422, "invalid");
            continue;
        }
        assert_eq!(change(&plane, &ada, "raise", body).await.refused_field(), named);
    }
    assert_eq!(change(&plane, &eve, "block", good).await.refused_field(), "rule_id");
    let stored = plane.by(&ada, "GET", "overrides").send().await.expect(200);
    assert_eq!(stored.body["data"], json!([]));
}

#[tokio::test]
async fn a_subject_is_found_by_each_spelling_of_its_form() {
    let plane = Plane::start().await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let counted = json!([{ "attribute": "ip", "as": "address", "ipv6_prefix": 64 }]);
    let id = rule(&plane, &ada, per_day("per-address", &counted, 5)).await;
    let own = |ip: &str| {
        json!({ "rule_id": id, "subject": { "ip": ip },
            "limits": [{ "algorithm": "fixed_window", "limit": 7, "window_ms": DAY_MS }] })
    };
    plane.by(&ada, "POST", "overrides").json(&own("2001:db8:1:2::7")).send().await.expect(201);
    let again = plane.by(&ada, "POST", "overrides").json(&own("2001:db8:1:2::8")).send().await;
    assert_eq!(again.status, 409, "one override for each subject");

    wrote_history(&plane, &ada, &id, &json!({ "ip": "2001:db8:1:2::/64" })).await;
    for ip in ["2001:db8:1:2::9", "2001:db8:1:2::/64"] {
        let body = json!({ "attributes": { "ip": ip }, "history": true });
        let seen = plane.by(&ada, "POST", "subjects/inspect").json(&body).send().await.expect(200);
        assert_eq!(seen.body["denials"].as_array().map(Vec::len), Some(50), "{ip}");
        let denied = seen.body["history"]["denied"].as_array().expect("a list");
        assert!(denied.iter().any(|count| *count == 499), "{ip}: {denied:?}");
        let found = &seen.body["data"][0];
        assert_eq!(found["limits"][0]["limit"], 7, "{ip}: {found}");
        assert_eq!(found["subject"]["ip"], "2001:db8:1:2::/64");
        assert_eq!(found["count_by"], counted);
    }
    let test = json!({ "namespace": "default", "attributes": { "ip": "2001:db8:1:2::1" } });
    let tested = plane.by(&ada, "POST", "test").json(&test).send().await.expect(200);
    assert_eq!(tested.body["rules"][0]["limits"][0]["limit"], 7, "{}", tested.body);

    let plain = per_day("per-address", &json!(["ip"]), 5);
    let path = format!("rules/{id}");
    let refused =
        plane.by(&ada, "PUT", &path).header("if-match", "\"1\"").json(&plain).send().await;
    assert_eq!(refused.status, 409, "its overrides name subjects in the former form");
}
