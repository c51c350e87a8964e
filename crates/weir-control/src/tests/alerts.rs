//! Alerts are announced once, by the first control plane that evaluates them.

use std::time::Duration;

use serde_json::json;
use weir_domain::id::{GateId, RuleId, TenantId};
use weir_domain::time::Timestamp;
use weir_store::{Flush, Scope, SketchEntry, SketchRow, TallyCounts, TallyRow};

use super::receiver::Receiver;
use super::support::{Member, Plane};
use crate::alerting::{deliver_due, evaluate_due};

pub(super) const MINUTE_MS: i64 = 60_000;
/// The most time that a test lets pass.
pub(super) const BEHIND_MS: i64 = 30 * MINUTE_MS;

pub(super) async fn webhook(plane: &Plane, member: &Member, receiver: &Receiver) -> String {
    let body = json!({ "name": "on call", "url": receiver.url() });
    let made = plane.by(member, "POST", "webhooks").json(&body).send().await.expect(201);
    made.text("/webhook/id")
}

pub(super) async fn quota_rule(plane: &Plane, member: &Member, count_by: &[&str]) -> String {
    let limits = json!([{ "algorithm": "quota", "limit": 10, "period": "month" }]);
    let rule = json!({ "name": "monthly", "count_by": count_by, "limits": limits });
    plane.by(member, "POST", "rules").json(&rule).send().await.expect(201).text("/id")
}

/// Writes statistics as a gate does.
async fn flush(plane: &Plane, member: &Member, rows: &[TallyRow], sketch: Option<SketchRow>) {
    let tenant: TenantId = member.tenant.parse().expect("an id");
    let gate_id = GateId::from_u128(tenant.to_u128());
    let oldest_minute = Timestamp::from_millis(plane.now_ms());
    let flush = Flush { gate_id, boot_id: 7, region: None, oldest_minute, age: Duration::ZERO };
    let mut tx = plane.database.gate.begin("tests.flush", Scope::Gate(gate_id)).await.expect("tx");
    tx.tallies().report(&flush).await.expect("report");
    tx.tallies().write(&flush, rows).await.expect("write");
    tx.top_subjects().write(&flush, sketch.as_slice()).await.expect("write");
    tx.commit().await.expect("commit");
}

pub(super) async fn busy(plane: &Plane, member: &Member, rule: &str, users: &[&str]) {
    let entry = |user: &&str| SketchEntry {
        rule_id: rule.parse().expect("an id"),
        subject: json!({ "user": user }),
        checks: 9,
        denied: 0,
        shadow_denied: 0,
    };
    let sketch = SketchRow {
        tenant_id: member.tenant.parse().expect("an id"),
        at: Timestamp::from_millis(plane.now_ms() / 600_000 * 600_000),
        checks: 9,
        floor: 0,
        entries: users.iter().map(entry).collect(),
    };
    flush(plane, member, &[], Some(sketch)).await;
}

pub(super) async fn checks(
    plane: &Plane,
    member: &Member,
    namespace: &str,
    allowed: u64,
    denied: u64,
) {
    let row = TallyRow {
        tenant_id: member.tenant.parse().expect("an id"),
        rule_id: None::<RuleId>,
        minute: Timestamp::from_millis(plane.now_ms() / MINUTE_MS * MINUTE_MS),
        namespace: namespace.to_owned(),
        counts: TallyCounts { allowed, denied, ..TallyCounts::default() },
    };
    flush(plane, member, &[row], None).await;
}

/// Evaluates due alerts and sends messages, after the usual pause.
pub(super) async fn evaluate_and_deliver(plane: &Plane) {
    plane.advance(31_000);
    evaluate_due(&plane.state).await.expect("evaluated");
    deliver_due(&plane.state).await.expect("sent");
}

#[tokio::test]
async fn alert_of_a_customer_announces_its_quotas_alone() {
    let plane = Plane::start_behind(BEHIND_MS).await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let receiver = Receiver::start().await;
    let webhook = webhook(&plane, &ada, &receiver).await;
    let rule = quota_rule(&plane, &ada, &["user"]).await;
    let mut body = json!({ "name": "u-1", "webhook_id": webhook, "kind": "quota", "rule_id": rule, "customer": "u-1" });
    let refused = plane.by(&ada, "POST", "alerts").json(&body).send().await;
    assert_eq!(refused.refused_field(), "customer", "the tenant names no attribute");
    let set = async |attribute: &str| {
        let attribute = json!({ "customer_attribute": attribute });
        plane.by(&ada, "PATCH", "").json(&attribute).send().await
    };
    set("org").await.expect(200);
    let refused = plane.by(&ada, "POST", "alerts").json(&body).send().await;
    assert_eq!(refused.refused_field(), "customer", "the rule counts by another attribute");
    set("user").await.expect(200);
    let alert = plane.by(&ada, "POST", "alerts").json(&body).send().await.expect(201);
    assert_eq!(alert.body["customer"], "u-1");
    set("org").await.problem(409, "conflict");

    for user in ["u-1", "u-2"] {
        for _ in 0..8 {
            plane.consume(&ada, &rule, user).await;
        }
    }
    // Its counter is read even if the statistics do not have it.
    busy(&plane, &ada, &rule, &["u-2"]).await;
    evaluate_and_deliver(&plane).await;
    assert_eq!(receiver.next().await.json()["data"]["subject"], json!({ "user": "u-1" }));
    assert_eq!(receiver.count(), 1);

    body["kind"] = json!("denial_share");
    body["share_percent"] = json!(5);
    let refused = plane.by(&ada, "POST", "alerts").json(&body).send().await;
    assert_eq!(refused.refused_field(), "customer");
}

#[tokio::test]
async fn subject_is_announced_once_at_each_threshold_of_its_quota() {
    let plane = Plane::start_behind(BEHIND_MS).await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let receiver = Receiver::start().await;
    let webhook = webhook(&plane, &ada, &receiver).await;
    let rule = quota_rule(&plane, &ada, &["user"]).await;
    let body = json!({ "name": "nearly used up", "webhook_id": webhook, "kind": "quota", "rule_id": rule });
    let alert = plane.by(&ada, "POST", "alerts").json(&body).send().await.expect(201);
    assert_eq!(alert.body["thresholds_percent"], json!([80, 90, 100]));
    for _ in 0..7 {
        plane.consume(&ada, &rule, "u-1").await;
    }
    plane.consume(&ada, &rule, "u-2").await;
    busy(&plane, &ada, &rule, &["u-1", "u-2"]).await;
    evaluate_and_deliver(&plane).await;
    assert_eq!(receiver.count(), 0, "seven of ten are no matter");

    plane.consume(&ada, &rule, "u-1").await;
    evaluate_and_deliver(&plane).await;
    let message = receiver.next().await.json();
    assert_eq!(message["type"], "alert.quota");
    let data = &message["data"];
    assert_eq!(data["subject"], json!({ "user": "u-1" }));
    assert_eq!(
        (&data["threshold_percent"], &data["used"], &data["limit"]),
        (&json!(80), &json!(8), &json!(10))
    );
    assert_eq!(data["rule"]["name"], "monthly");
    assert_eq!(data["alert"]["id"], alert.text("/id"));
    evaluate_and_deliver(&plane).await;
    assert_eq!(receiver.count(), 1, "not again");

    // The subject crosses two thresholds at once, and only the higher one is announced.
    plane.consume(&ada, &rule, "u-1").await;
    plane.consume(&ada, &rule, "u-1").await;
    evaluate_and_deliver(&plane).await;
    assert_eq!(receiver.next().await.json()["data"]["threshold_percent"], 100);
    evaluate_and_deliver(&plane).await;
    assert_eq!(receiver.count(), 2);
    let list = plane.by(&ada, "GET", "alerts").send().await.expect(200);
    assert!(list.body["data"][0]["fired_at"].is_string());
}

#[tokio::test]
async fn rule_with_one_counter_for_all_needs_no_subjects() {
    let plane = Plane::start_behind(BEHIND_MS).await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let receiver = Receiver::start().await;
    let webhook = webhook(&plane, &ada, &receiver).await;
    let rule = quota_rule(&plane, &ada, &[]).await;
    let body = json!({
        "name": "half", "webhook_id": webhook, "kind": "quota", "rule_id": rule,
        "thresholds_percent": [50],
    });
    plane.by(&ada, "POST", "alerts").json(&body).send().await.expect(201);
    for _ in 0..5 {
        plane.consume(&ada, &rule, "").await;
    }
    evaluate_and_deliver(&plane).await;
    let message = receiver.next().await.json();
    assert_eq!((&message["data"]["subject"], &message["data"]["used"]), (&json!({}), &json!(5)));

    let path = format!("rules/{rule}");
    plane.by(&ada, "DELETE", &path).send().await.expect(204);
    let log = plane.by(&ada, "GET", "audit?action=rule.delete").send().await.expect(200);
    assert_eq!(log.text("/data/0/before/deleted_alerts/0/name"), "half");
}

#[tokio::test]
async fn concurrent_evaluations_announce_a_denial_share_once_per_window() {
    let plane = Plane::start_behind(BEHIND_MS).await;
    // The first counts all belong to one minute, and so to one row. The greater counts of the row remain.
    plane.advance(MINUTE_MS - plane.now_ms() % MINUTE_MS);
    let other = plane.also(crate::ControlSettings::default());
    let ada = plane.member("ada@example.com").await;
    let receiver = Receiver::start().await;
    let webhook = webhook(&plane, &ada, &receiver).await;
    let body = json!({
        "name": "many refusals", "webhook_id": webhook, "kind": "denial_share",
        "namespace": "api", "share_percent": 20, "window_s": 300, "checks_min": 100,
    });
    plane.by(&ada, "POST", "alerts").json(&body).send().await.expect(201);
    checks(&plane, &ada, "other", 0, 500).await;
    checks(&plane, &ada, "api", 81, 18).await;
    evaluate_and_deliver(&plane).await;
    assert_eq!(receiver.count(), 0, "99 checks say nothing");
    checks(&plane, &ada, "api", 81, 21).await;
    plane.advance(31_000);
    other.advance(plane.now_ms() - other.now_ms());
    let (ours, theirs) = tokio::join!(evaluate_due(&plane.state), evaluate_due(&other.state));
    assert_eq!(ours.expect("evaluated") + theirs.expect("evaluated"), 1, "one of them evaluates");
    deliver_due(&plane.state).await.expect("sent");
    let message = receiver.next().await.json();
    assert_eq!(message["type"], "alert.denial_share");
    let data = &message["data"];
    assert_eq!(
        (&data["denied"], &data["checks"], &data["namespace"]),
        (&json!(21), &json!(102), &json!("api"))
    );
    for _ in 0..8 {
        checks(&plane, &ada, "api", 0, 1000).await;
        evaluate_and_deliver(&plane).await;
    }
    assert_eq!(receiver.count(), 1, "once per window");
    plane.advance(60_000);
    checks(&plane, &ada, "api", 0, 1000).await;
    evaluate_and_deliver(&plane).await;
    assert_eq!(receiver.count(), 2, "and again in the next");
}

#[tokio::test]
async fn alerts_are_refused_by_field_and_bound_to_what_they_name() {
    let plane = Plane::start_behind(BEHIND_MS).await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("eve@example.com").await;
    let receiver = Receiver::start().await;
    let webhook_id = webhook(&plane, &ada, &receiver).await;
    let theirs = webhook(&plane, &eve, &receiver).await;
    let rule = quota_rule(&plane, &ada, &["user"]).await;
    let limits = json!([{ "algorithm": "spacing", "interval_ms": 5 }]);
    let plain = json!({ "name": "plain", "limits": limits });
    let plain = plane.by(&ada, "POST", "rules").json(&plain).send().await.expect(201).text("/id");
    let share = json!({ "name": "a", "webhook_id": webhook_id, "kind": "denial_share", "share_percent": 5 });
    let quota = json!({ "name": "a", "webhook_id": webhook_id, "kind": "quota", "rule_id": rule });
    let with = |base: &serde_json::Value, field: &str, value: serde_json::Value| {
        let mut body = base.clone();
        body[field] = value;
        body
    };
    for (body, field) in [
        (with(&share, "name", json!("")), "name"),
        (with(&share, "kind", json!("other")), "kind"),
        (with(&share, "webhook_id", json!(theirs)), "webhook_ids"),
        (with(&share, "webhook_id", json!("x")), "webhook_ids"),
        (with(&share, "webhook_id", json!([])), "webhook_ids"),
        (with(&share, "webhook_id", json!([webhook_id, webhook_id])), "webhook_ids"),
        (with(&share, "webhook_id", json!([webhook_id, theirs])), "webhook_ids"),
        (with(&share, "share_percent", json!(0)), "share_percent"),
        (with(&share, "window_s", json!(61)), "window_s"),
        (with(&share, "rule_id", json!(RuleId::from_u128(1).to_string())), "rule_id"),
        (with(&quota, "rule_id", json!(plain)), "rule_id"),
        (with(&quota, "thresholds_percent", json!([])), "thresholds_percent"),
        (with(&quota, "namespace", json!("api")), "namespace"),
        (with(&quota, "tenant_id", json!("x")), "tenant_id"),
    ] {
        let answer = plane.by(&ada, "POST", "alerts").json(&body).send().await;
        assert_eq!(answer.refused_field(), field, "{body}");
    }
    let made = plane.by(&ada, "POST", "alerts").json(&quota).send().await.expect(201);
    let path = format!("webhooks/{webhook_id}");
    plane.by(&ada, "DELETE", &path).send().await.problem(409, "conflict");
    let alert = format!("alerts/{}", made.text("/id"));
    let off = with(&share, "enabled", json!(false));
    let changed = plane.by(&ada, "PUT", &alert).json(&off).send().await.expect(200);
    assert_eq!(
        (&changed.body["kind"], &changed.body["rule_id"]),
        (&json!("denial_share"), &json!(null))
    );
    plane.by(&ada, "DELETE", &alert).send().await.expect(204);
    plane.by(&ada, "DELETE", &alert).send().await.problem(404, "not_found");
    plane.by(&ada, "DELETE", &path).send().await.expect(204);
}

#[tokio::test]
async fn quota_alert_knows_the_overrides_of_its_subjects_and_subjects_of_any_length() {
    let plane = Plane::start_behind(BEHIND_MS).await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let receiver = Receiver::start().await;
    let webhook = webhook(&plane, &ada, &receiver).await;
    let rule = quota_rule(&plane, &ada, &["user"]).await;
    let body = json!({ "name": "a", "webhook_id": webhook, "kind": "quota", "rule_id": rule });
    plane.by(&ada, "POST", "alerts").json(&body).send().await.expect(201);
    let limits = json!([{ "algorithm": "quota", "limit": 100, "period": "month" }]);
    let more = json!({ "rule_id": rule, "subject": { "user": "partner" }, "limits": limits });
    plane.by(&ada, "POST", "overrides").json(&more).send().await.expect(201);
    // The subject is longer than a key of an index can be, even when compressed.
    let long: String = (0..4_000_u64).map(|n| (n * n * 7_919 % 99_991).to_string()).collect();
    for user in ["partner", &long] {
        for _ in 0..8 {
            plane.consume(&ada, &rule, user).await;
        }
    }
    busy(&plane, &ada, &rule, &["partner", &long]).await;
    evaluate_and_deliver(&plane).await;
    let message = receiver.next().await.json();
    assert_eq!(message["data"]["subject"]["user"], long);
    evaluate_and_deliver(&plane).await;
    assert_eq!(receiver.count(), 1, "8 of 100 is no matter, and nothing is announced twice");
}
