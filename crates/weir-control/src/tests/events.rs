//! Events that explain the statistics.

use std::time::Duration;

use serde_json::{Value, json};
use weir_domain::id::{DeliveryId, GateId, TenantId, WebhookId};
use weir_domain::time::Timestamp;
use weir_store::{Flush, NewDelivery, STEP_MS, Scope, StepRow, TallyCounts, TallyRow};

use super::support::{Member, Plane};

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 86_400_000;

async fn rule(plane: &Plane, member: &Member, namespace: &str) -> String {
    let limits = json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 60_000 }]);
    let body =
        json!({ "namespace": namespace, "name": "login", "count_by": ["user"], "limits": limits });
    plane.by(member, "POST", "rules").json(&body).send().await.expect(201).text("/id")
}

/// The kind, action, namespace and rule of each event.
async fn events(plane: &Plane, member: &Member, filter: &str) -> Vec<[Value; 4]> {
    let found = plane.by(member, "GET", &format!("stats/events{filter}")).send().await.expect(200);
    let events = found.body["data"].as_array().expect("a list").iter();
    events
        .map(|event| ["kind", "action", "namespace", "rule"].map(|key| event[key].clone()))
        .collect()
}

#[tokio::test]
async fn changes_of_rules_overrides_and_enforcement_are_events() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("eve@example.com").await;
    let id = rule(&plane, &ada, "api").await;
    let other = rule(&plane, &ada, "mail").await;
    rule(&plane, &eve, "api").await;
    let exception = json!({ "rule_id": id, "subject": { "user": "u-1" }, "action": "allow" });
    plane.by(&ada, "POST", "overrides").json(&exception).send().await.expect(201);
    let off = json!({ "enforcement": "off" });
    plane.by(&ada, "PATCH", "").json(&off).send().await.expect(200);
    plane.by(&ada, "PATCH", "").json(&json!({ "name": "Renamed" })).send().await.expect(200);
    plane
        .by(&ada, "DELETE", &format!("rules/{other}"))
        .header("if-match", "\"1\"")
        .send()
        .await
        .expect(204);
    // Postgres assigns the times, and its clock can be ahead of the plane's.
    plane.advance(MINUTE_MS);

    let deleted = [json!("rule_change"), json!("rule.delete"), json!("mail"), json!("login")];
    let enforcement = [json!("enforcement"), json!("tenant.enforcement"), Value::Null, Value::Null];
    let exception =
        [json!("override_change"), json!("override.create"), json!("api"), json!("login")];
    let created = |namespace: &str| {
        [json!("rule_change"), json!("rule.create"), json!(namespace), json!("login")]
    };
    let all =
        [deleted.clone(), enforcement.clone(), exception.clone(), created("mail"), created("api")];
    assert_eq!(events(&plane, &ada, "").await, all);
    let of_api = [enforcement.clone(), exception.clone(), created("api")];
    assert_eq!(events(&plane, &ada, "?namespace=api").await, of_api);
    assert_eq!(events(&plane, &ada, &format!("?rule_id={id}")).await, of_api);
    let past = "?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z";
    assert_eq!(events(&plane, &ada, past).await, [] as [[Value; 4]; 0]);
    let wrong = plane.by(&ada, "GET", "stats/events?rule_id=login").send().await;
    assert_eq!(wrong.refused_field(), "rule_id");
}

/// The number of changes of overrides that are read is bounded, apart from those of rules.
#[tokio::test]
async fn changes_of_a_namespace_behind_many_of_others_are_missed_and_that_is_said() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let mail = rule(&plane, &ada, "mail").await;
    let id = rule(&plane, &ada, "api").await;
    let exception = |rule: &str, at: u32| json!({ "rule_id": rule, "subject": { "user": format!("u-{at}") }, "action": "allow" });
    plane.by(&ada, "POST", "overrides").json(&exception(&mail, 0)).send().await.expect(201);
    for at in 0..201 {
        plane.by(&ada, "POST", "overrides").json(&exception(&id, at)).send().await.expect(201);
    }
    plane.advance(MINUTE_MS);
    let found = plane.by(&ada, "GET", "stats/events?namespace=mail").send().await.expect(200);
    let events = found.body["data"].as_array().expect("a list");
    let kinds: Vec<_> = events.iter().map(|event| event["kind"].clone()).collect();
    assert_eq!((json!(kinds), &found.body["truncated"]), (json!(["rule_change"]), &json!(true)));
}

/// Writes steps of ten seconds and minutes of whole requests at one gate, as `(start, checks, without Redis)`.
async fn counted(plane: &Plane, member: &Member, steps: &[Counted], minutes: &[Counted]) {
    let tenant_id: TenantId = member.tenant.parse().expect("an id");
    let gate_id = GateId::from_u128(7);
    let counts = |(_, checks, degraded): &Counted| TallyCounts {
        allowed: *checks,
        degraded: *degraded,
        ..TallyCounts::default()
    };
    let step = |step: &Counted| StepRow {
        tenant_id,
        rule_id: None,
        at: step.0,
        namespace: "api".to_owned(),
        counts: counts(step),
        latencies: None,
    };
    let minute = |minute: &Counted| TallyRow {
        tenant_id,
        rule_id: None,
        minute: minute.0,
        namespace: "api".to_owned(),
        counts: counts(minute),
    };
    let now = Timestamp::from_millis(plane.now_ms() / MINUTE_MS * MINUTE_MS);
    let oldest_minute = minutes.iter().map(|minute| minute.0).min().unwrap_or(now);
    let flush = Flush { gate_id, boot_id: 1, region: None, oldest_minute, age: Duration::ZERO };
    let mut tx = plane.database.gate.begin("tests", Scope::Gate(gate_id)).await.expect("begin");
    tx.tallies().report(&flush).await.expect("report");
    let steps: Vec<_> = steps.iter().map(step).collect();
    tx.tallies().write_steps(&flush, &steps).await.expect("write");
    let minutes: Vec<_> = minutes.iter().map(minute).collect();
    tx.tallies().write(&flush, &minutes).await.expect("write");
    tx.commit().await.expect("commit");
}

type Counted = (Timestamp, u64, u64);

/// The kind, start, end and checks of each event.
async fn outages(plane: &Plane, member: &Member, filter: &str) -> Vec<[Value; 4]> {
    let found = plane.by(member, "GET", &format!("stats/events{filter}")).send().await.expect(200);
    let events = found.body["data"].as_array().expect("a list").iter();
    events.map(|event| ["kind", "at", "until", "checks"].map(|key| event[key].clone())).collect()
}

fn outage(kind: &str, from: Timestamp, until: Timestamp, checks: u64) -> [Value; 4] {
    let text = |at: Timestamp| json!(weir_wire::time::DateTime(at).text());
    [json!(kind), text(from), text(until), json!(checks)]
}

/// Two pauses of 20 s that begin 70 s apart, and single calls that took too long, now and of the day before yesterday, when other
/// steps are long deleted.
#[tokio::test]
async fn outages_of_redis_begin_and_end_to_ten_seconds() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let minute = Timestamp::from_millis((plane.now_ms() / MINUTE_MS - 10) * MINUTE_MS);
    let mut steps = Vec::new();
    for begin in [minute, minute.plus_ms(-2 * DAY_MS)] {
        let at = |step: i64| begin.plus_ms(step * STEP_MS);
        let degraded = |step: i64| match step {
            5 | 12 => 350,
            6 | 13 => 500,
            7 | 14 => 150,
            _ => 2,
        };
        steps.extend((0..30).map(|step| (at(step), 500, degraded(step))));
    }
    counted(&plane, &ada, &steps, &[(minute, 3_000, 862)]).await;
    let pauses = |begin: Timestamp| {
        let at = |step: i64| begin.plus_ms(step * STEP_MS);
        [outage("redis_outage", at(12), at(15), 1_000), outage("redis_outage", at(5), at(8), 1_000)]
    };
    assert_eq!(outages(&plane, &ada, "").await, pauses(minute));
    let past = minute.plus_ms(-2 * DAY_MS);
    let mut tx = plane.database.app.begin("tests", Scope::Service).await.expect("begin");
    tx.housekeeping().delete_old_steps(1_000).await.expect("deleted");
    tx.commit().await.expect("commit");
    let week = format!("?from={}", weir_wire::time::DateTime(minute.plus_ms(-6 * DAY_MS)).text());
    let expected = [pauses(minute), pauses(past)].concat();
    assert_eq!(outages(&plane, &ada, &week).await, expected, "they are retained");
    assert_eq!(outages(&plane, &ada, "?namespace=mail").await, [] as [[Value; 4]; 0]);
    let found = plane.by(&ada, "GET", "stats/events").send().await.expect(200);
    assert_eq!(
        (found.text("/data/0/summary"), &found.body["data"][0]["step_ms"]),
        ("30 s, 1,000 of 1,500 checks answered without it".to_owned(), &json!(10_000))
    );
}

/// Of older times only minutes and hours are known, which do not tell a pause from slow calls.
#[tokio::test]
async fn checks_without_redis_of_long_ago_are_events_of_coarse_steps() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let day = Timestamp::from_millis(plane.now_ms() / DAY_MS * DAY_MS);
    let at = |minutes: i64| day.plus_ms(-4 * DAY_MS + minutes * MINUTE_MS);
    let minutes = [(at(0), 900, 300), (at(1), 900, 4), (at(2), 900, 9), (at(3), 900, 3)];
    counted(&plane, &ada, &[], &minutes).await;
    let range = |days: i64| {
        format!("?from={}", weir_wire::time::DateTime(day.plus_ms(-days * DAY_MS)).text())
    };
    let expected = [outage("redis_outage", at(0), at(1), 300)];
    assert_eq!(outages(&plane, &ada, &range(5)).await, expected, "few checks of the others");
    let found =
        plane.by(&ada, "GET", &format!("stats/events{}", range(5))).send().await.expect(200);
    assert_eq!(
        (found.text("/data/0/summary"), &found.body["data"][0]["step_ms"]),
        ("300 of 900 checks, known to the minute".to_owned(), &json!(60_000))
    );
    let old = day.plus_ms(-30 * DAY_MS);
    counted(&plane, &ada, &[], &[(old, 900, 300), (old.plus_ms(9 * 3_600_000), 50_000, 9)]).await;
    let found =
        plane.by(&ada, "GET", &format!("stats/events{}", range(31))).send().await.expect(200);
    let events = found.body["data"].as_array().expect("a list");
    assert_eq!(events.len(), 2, "{events:#?}");
    assert_eq!(events[1]["checks"], 300);
    assert!(events[1]["step_ms"].as_u64() >= Some(3_600_000), "{}", events[1]);
}

/// The newest 200 events are of an alert and of overrides.
#[tokio::test]
async fn outages_and_changes_of_rules_are_never_pushed_out_by_other_events() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let id = rule(&plane, &ada, "api").await;
    let step = Timestamp::from_millis(plane.now_ms() / MINUTE_MS * MINUTE_MS - 30 * MINUTE_MS);
    counted(&plane, &ada, &[(step, 500, 400)], &[]).await;
    for at in 0..205 {
        let exception =
            json!({ "rule_id": id, "subject": { "user": format!("u-{at}") }, "action": "allow" });
        plane.by(&ada, "POST", "overrides").json(&exception).send().await.expect(201);
    }
    let webhook = json!({ "name": "w", "url": "http://127.0.0.1:9/" });
    let webhook = plane.by(&ada, "POST", "webhooks").json(&webhook).send().await.expect(201);
    let webhook = webhook.text("/webhook/id");
    for at in 0..300 {
        let data = json!({
            "alert": { "id": "alert_1", "name": "Token volume" }, "threshold_percent": 80 + at % 3 * 10,
            "rule": { "id": id, "namespace": "api", "name": "login" }, "subject": { "customer": format!("c-{}", at % 7) },
        });
        announce(&plane, &ada, &webhook, ("alert.quota", at), &data).await;
    }
    plane.advance(MINUTE_MS);
    let found = plane.by(&ada, "GET", "stats/events").send().await.expect(200);
    let events = found.body["data"].as_array().expect("a list");
    assert_eq!((events.len(), &found.body["truncated"]), (200, &json!(true)));
    let of = |kind: &str| events.iter().filter(|event| event["kind"] == kind).collect::<Vec<_>>();
    assert_eq!((of("redis_outage").len(), of("rule_change").len()), (1, 1));
    let alerts = of("alert");
    assert_eq!(alerts.len(), 1, "one event for all announcements");
    let alert = alerts[0];
    assert_eq!(
        (&alert["firings"], &alert["subject"]),
        (&json!(300), &json!({ "customer": "c-5" }))
    );
    assert_eq!(alert["summary"], "7 subjects, last customer c-5 at 100%");
    assert!(alert["until"].is_string() && alert["at"].is_string(), "{alert}");
}

#[tokio::test]
async fn events_state_what_changed() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let bucket = |capacity: u64| {
        let limit = json!({
            "algorithm": "token_bucket", "capacity": capacity, "refill_tokens": 10, "refill_interval_ms": 1_000,
        });
        json!({ "name": "api", "count_by": ["customer"], "limits": [limit] })
    };
    let created = plane.by(&ada, "POST", "rules").json(&bucket(40)).send().await.expect(201);
    let id = created.text("/id");
    let update = plane.by(&ada, "PUT", &format!("rules/{id}")).header("if-match", "\"1\"");
    update.json(&bucket(15)).send().await.expect(200);
    let exception =
        json!({ "rule_id": id, "subject": { "customer": "umbrella" }, "action": "allow" });
    plane.by(&ada, "POST", "overrides").json(&exception).send().await.expect(201);
    plane.by(&ada, "PATCH", "").json(&json!({ "enforcement": "off" })).send().await.expect(200);
    plane.advance(MINUTE_MS);
    let found = plane.by(&ada, "GET", "stats/events").send().await.expect(200);
    let events = found.body["data"].as_array().expect("a list").iter();
    let summaries: Vec<_> = events.map(|event| event["summary"].clone()).collect();
    let expected = [
        "enforcement on → off",
        "always allowed",
        "burst 40 → 15",
        "bursts of 40, then 10 per second",
    ];
    assert_eq!(summaries, expected);
    assert_eq!(found.body["data"][1]["subject"], json!({ "customer": "umbrella" }));
    let log = plane.by(&ada, "GET", "audit?action=rule.update").send().await.expect(200);
    assert_eq!(log.text("/data/0/summary"), "burst 40 → 15", "the audit log says the same");
}

/// Stores an announcement, with a number of its own.
async fn announce(
    plane: &Plane,
    member: &Member,
    webhook: &str,
    (kind, number): (&'static str, u128),
    data: &Value,
) {
    let tenant_id: TenantId = member.tenant.parse().expect("an id");
    let webhook_id: WebhookId = webhook.parse().expect("an id");
    let new = NewDelivery {
        id: DeliveryId::from_u128(number),
        tenant_id,
        webhook_id,
        kind,
        payload: json!({ "type": kind, "data": data }).to_string(),
        now: Timestamp::from_millis(plane.now_ms() + i64::try_from(number).expect("few")),
    };
    let mut tx = plane.database.app.begin("tests", Scope::Tenant(tenant_id)).await.expect("begin");
    tx.deliveries().insert(&new).await.expect("inserted");
    tx.commit().await.expect("commit");
}

#[tokio::test]
async fn fired_alerts_are_events() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let webhook = json!({ "name": "w", "url": "http://127.0.0.1:9/" });
    let webhook = plane.by(&ada, "POST", "webhooks").json(&webhook).send().await.expect(201);
    let webhook = webhook.text("/webhook/id");
    let data = json!({
        "alert": { "id": "alert_1", "name": "too many" }, "rule": null, "namespace": "api",
        "denied": 41, "checks": 100,
    });
    announce(&plane, &ada, &webhook, ("alert.denial_share", 1), &data).await;
    announce(&plane, &ada, &webhook, ("webhook.test", 2), &data).await;
    plane.advance(1000);

    let found = plane.by(&ada, "GET", "stats/events").send().await.expect(200);
    assert_eq!(found.body["data"].as_array().map(Vec::len), Some(1), "{:#}", found.body);
    assert_eq!(
        (found.text("/data/0/kind"), found.text("/data/0/alert")),
        ("alert".to_owned(), "too many".to_owned())
    );
    assert_eq!(found.text("/data/0/summary"), "41% of 100 checks denied");
    assert_eq!(events(&plane, &ada, "?namespace=mail").await, [] as [[Value; 4]; 0]);
}
