//! Events that explain the statistics.

use std::time::Duration;

use serde_json::{Value, json};
use weir_domain::id::{DeliveryId, GateId, RuleId, TenantId, WebhookId};
use weir_domain::time::Timestamp;
use weir_store::{Flush, NewDelivery, Scope, TallyCounts, TallyRow};

use super::support::{Member, Plane};

const MINUTE_MS: i64 = 60_000;

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

/// The number of changes of a tenant that are read is bounded.
#[tokio::test]
async fn changes_of_a_namespace_behind_many_of_others_are_missed_and_that_is_said() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    rule(&plane, &ada, "mail").await;
    let id = rule(&plane, &ada, "api").await;
    for at in 0..201 {
        let exception =
            json!({ "rule_id": id, "subject": { "user": format!("u-{at}") }, "action": "allow" });
        plane.by(&ada, "POST", "overrides").json(&exception).send().await.expect(201);
    }
    plane.advance(MINUTE_MS);
    let found = plane.by(&ada, "GET", "stats/events?namespace=mail").send().await.expect(200);
    assert_eq!((&found.body["data"], &found.body["truncated"]), (&json!([]), &json!(true)));
}

#[tokio::test]
async fn outages_of_redis_are_events_with_their_length_and_checks() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let tenant_id: TenantId = ada.tenant.parse().expect("an id");
    let gate_id = GateId::from_u128(7);
    let minute =
        |back: i64| Timestamp::from_millis((plane.now_ms() / MINUTE_MS - back) * MINUTE_MS);
    let row = |back: i64, degraded: u64| TallyRow {
        tenant_id,
        rule_id: None::<RuleId>,
        minute: minute(back),
        namespace: "api".to_owned(),
        counts: TallyCounts { allowed: 9, degraded, ..TallyCounts::default() },
    };
    let flush = Flush { gate_id, boot_id: 1, oldest_minute: minute(30), age: Duration::ZERO };
    let rows = [row(20, 3), row(19, 4), row(18, 0), row(10, 1)];
    let mut tx = plane.database.gate.begin("tests", Scope::Gate(gate_id)).await.expect("begin");
    tx.tallies().report(&flush).await.expect("report");
    tx.tallies().write(&flush, &rows).await.expect("write");
    tx.commit().await.expect("commit");

    let found = plane.by(&ada, "GET", "stats/events").send().await.expect(200);
    let outages: Vec<_> = found.body["data"].as_array().expect("a list").iter().collect();
    let shown =
        |event: &Value| (event["kind"].clone(), event["at"].clone(), event["until"].clone());
    let text = |at: Timestamp| json!(weir_wire::time::DateTime(at).text());
    let outage = |from: i64, to: i64| (json!("redis_outage"), text(minute(from)), text(minute(to)));
    assert_eq!(
        outages.iter().map(|event| shown(event)).collect::<Vec<_>>(),
        [outage(10, 9), outage(20, 18)]
    );
    assert_eq!((&outages[0]["checks"], &outages[1]["checks"]), (&json!(1), &json!(7)));
    assert_eq!(events(&plane, &ada, "?namespace=mail").await, [] as [[Value; 4]; 0]);
}

#[tokio::test]
async fn fired_alerts_are_events() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let webhook = json!({ "name": "w", "url": "http://127.0.0.1:9/" });
    let webhook = plane.by(&ada, "POST", "webhooks").json(&webhook).send().await.expect(201);
    let tenant_id: TenantId = ada.tenant.parse().expect("an id");
    let webhook_id: WebhookId = webhook.text("/webhook/id").parse().expect("an id");
    let data = json!({ "alert": { "id": "alert_1", "name": "too many" }, "rule": null, "namespace": "api" });
    let new = |kind: &'static str, number: u128| NewDelivery {
        id: DeliveryId::from_u128(number),
        tenant_id,
        webhook_id,
        kind,
        payload: json!({ "type": kind, "data": data }).to_string(),
        now: Timestamp::from_millis(plane.now_ms()),
    };
    let mut tx = plane.database.app.begin("tests", Scope::Tenant(tenant_id)).await.expect("begin");
    tx.deliveries().insert(&new("alert.denial_share", 1)).await.expect("inserted");
    tx.deliveries().insert(&new("webhook.test", 2)).await.expect("inserted");
    tx.commit().await.expect("commit");
    plane.advance(1000);

    let found = plane.by(&ada, "GET", "stats/events").send().await.expect(200);
    assert_eq!(found.body["data"].as_array().map(Vec::len), Some(1), "{:#}", found.body);
    assert_eq!(
        (found.text("/data/0/kind"), found.text("/data/0/alert")),
        ("alert".to_owned(), "too many".to_owned())
    );
    assert_eq!(events(&plane, &ada, "?namespace=mail").await, [] as [[Value; 4]; 0]);
}
