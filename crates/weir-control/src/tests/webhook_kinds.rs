//! Slack, PagerDuty and e-mail: their fields, messages for people, ends of incidents, and muted alerts.

use serde_json::{Value, json};

use super::alerts::{BEHIND_MS, MINUTE_MS, busy, checks, evaluate_and_deliver, quota_rule};
use super::receiver::Receiver;
use super::support::{Member, Plane};
use crate::alerting::deliver_due;

const KEY: &str = "0123456789abcdef0123456789ABCDEF";

async fn channel(plane: &Plane, member: &Member, body: Value) -> String {
    let made = plane.by(member, "POST", "webhooks").json(&body).send().await.expect(201);
    assert!(made.body["secret"].is_null(), "{made:?}");
    assert!(!made.body.to_string().contains(KEY));
    made.text("/webhook/id")
}

async fn pagerduty(plane: &Plane, member: &Member, receiver: &Receiver) -> String {
    let url = receiver.url();
    let body = json!({ "name": "on call", "kind": "pagerduty", "url": url, "routing_key": KEY });
    channel(plane, member, body).await
}

async fn slack(plane: &Plane, member: &Member, receiver: &Receiver) -> String {
    let body = json!({ "name": "ops", "kind": "slack", "url": receiver.url() });
    channel(plane, member, body).await
}

/// An alert that fires if a fifth of the checks of the namespace `api` is denied within a minute.
async fn share_alert(plane: &Plane, member: &Member, webhook: &str) -> String {
    let body = json!({
        "name": "many refusals", "webhook_id": webhook, "kind": "denial_share",
        "namespace": "api", "share_percent": 20, "window_s": 60, "checks_min": 10,
    });
    plane.by(member, "POST", "alerts").json(&body).send().await.expect(201).text("/id")
}

async fn log(plane: &Plane, member: &Member, webhook: &str) -> Vec<Value> {
    let path = format!("webhooks/{webhook}/deliveries");
    let log = plane.by(member, "GET", &path).send().await.expect(200);
    log.body["data"].as_array().expect("a list").clone()
}

#[tokio::test]
async fn fields_of_each_kind_are_checked_and_nothing_is_stored() {
    let plane = Plane::start().await;
    let (mailing, _outbox) = Plane::mailing().await;
    let ada = plane.member("ada@example.com").await;
    let bob = mailing.member("bob@example.com").await;
    let url = "http://127.0.0.1:9/";
    let with_key = |key: &str| json!({ "kind": "pagerduty", "routing_key": key });
    let many: Vec<_> = (0..11).map(|at| format!("a{at}@example.com")).collect();
    let refused = [
        (json!({ "kind": "standard" }), "url"),
        (json!({ "kind": "slack" }), "url"),
        (json!({ "kind": "slack", "url": url, "routing_key": KEY }), "routing_key"),
        (json!({ "kind": "standard", "url": url, "addresses": ["a@example.com"] }), "addresses"),
        (json!({ "kind": "pagerduty" }), "routing_key"),
        (with_key(&KEY[1..]), "routing_key"),
        (with_key(&format!("{}!", &KEY[1..])), "routing_key"),
        (json!({ "kind": "email" }), "addresses"),
        (json!({ "kind": "email", "addresses": many }), "addresses"),
        (json!({ "kind": "email", "addresses": ["a@example.com", "nobody"] }), "addresses[1]"),
        (json!({ "kind": "email", "addresses": ["a@b.test", "A@b.test"] }), "addresses[1]"),
        (json!({ "kind": "email", "addresses": ["a@b.test"], "url": url }), "url"),
        (json!({ "kind": "customer_email", "addresses": ["a@b.test"] }), "addresses"),
        (json!({ "kind": "customer_email", "url": url }), "url"),
        (json!({ "kind": "teams", "url": url }), "kind"),
    ];
    for (mut body, field) in refused {
        body["name"] = json!("w");
        let answer = mailing.by(&bob, "POST", "webhooks").json(&body).send().await;
        assert_eq!(answer.refused_field(), field, "{body}");
    }
    let list = mailing.by(&bob, "GET", "webhooks").send().await.expect(200);
    assert_eq!(list.body["data"], json!([]));
    let mail = json!({ "name": "w", "kind": "email", "addresses": ["Ops@Example.com"] });
    let without = plane.by(&ada, "POST", "webhooks").json(&mail).send().await;
    assert_eq!(without.refused_field(), "kind", "there is no SMTP server");
    let made = mailing.by(&bob, "POST", "webhooks").json(&mail).send().await.expect(201);
    assert_eq!(made.body["webhook"]["addresses"], json!(["ops@example.com"]));
    assert!(made.body["webhook"]["url"].is_null() && made.body["secret"].is_null());
}

#[tokio::test]
async fn the_21st_webhook_is_refused() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let body = json!({ "name": "w", "kind": "slack", "url": "http://127.0.0.1:9/" });
    for _ in 0..20 {
        plane.by(&ada, "POST", "webhooks").json(&body).send().await.expect(201);
    }
    let answer = plane.by(&ada, "POST", "webhooks").json(&body).send().await;
    assert_eq!(answer.refused_field(), "webhooks");
}

#[tokio::test]
async fn the_kind_stays_and_a_stored_key_goes_to_no_other_server() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let (receiver, other) = (Receiver::start().await, Receiver::start().await);
    let id = pagerduty(&plane, &ada, &receiver).await;
    let path = format!("webhooks/{id}");
    let put = |body: Value| plane.by(&ada, "PUT", &path).json(&body).send();
    let url = receiver.url();
    let answer = put(json!({ "name": "w", "kind": "slack", "url": url })).await;
    assert_eq!(answer.refused_field(), "kind");
    let answer = put(json!({ "name": "w", "kind": "pagerduty", "url": other.url() })).await;
    assert_eq!(answer.refused_field(), "routing_key");
    let renamed = put(json!({ "name": "w", "kind": "pagerduty", "url": url })).await.expect(200);
    assert_eq!(renamed.text("/name"), "w");
    let rotate = plane.by(&ada, "POST", &format!("{path}/rotate")).json(&json!({ "overlap_s": 0 }));
    assert_eq!(rotate.send().await.refused_field(), "webhook");

    plane.by(&ada, "POST", &format!("{path}/test")).send().await.expect(202);
    deliver_due(&plane.state).await.expect("sent");
    assert_eq!(receiver.next().await.json()["routing_key"], KEY, "the stored key");
    let key = KEY.replace('0', "z");
    let moved = json!({ "name": "w", "kind": "pagerduty", "url": other.url(), "routing_key": key });
    put(moved).await.expect(200);
    plane.by(&ada, "POST", &format!("{path}/test")).send().await.expect(202);
    deliver_due(&plane.state).await.expect("sent");
    // The end of the first test is sent too.
    let keys = [other.next().await.json(), other.next().await.json()]
        .map(|event| event["routing_key"].as_str().expect("a key").to_owned());
    assert_eq!(keys, [key.clone(), key]);
}

#[tokio::test]
async fn a_test_of_pagerduty_opens_an_incident_and_ends_it_and_the_log_hides_the_key() {
    let plane = Plane::start_behind(BEHIND_MS).await;
    let ada = plane.member("ada@example.com").await;
    let receiver = Receiver::start().await;
    let id = pagerduty(&plane, &ada, &receiver).await;
    plane.by(&ada, "POST", &format!("webhooks/{id}/test")).send().await.expect(202);
    receiver.answer(500);
    deliver_due(&plane.state).await.expect("sent");
    assert_eq!(receiver.next().await.json()["event_action"], "trigger");
    assert_eq!(log(&plane, &ada, &id).await.len(), 1, "an incident that is not there has no end");
    receiver.answer(202);
    plane.advance(10_000);
    deliver_due(&plane.state).await.expect("sent");
    let begin = receiver.next().await;
    assert_eq!(begin.json()["payload"]["severity"], "info");
    deliver_due(&plane.state).await.expect("sent");
    let end = receiver.next().await.json();
    assert_eq!(end["event_action"], "resolve");
    assert_eq!(end["dedup_key"], begin.json()["dedup_key"]);
    assert_eq!(deliver_due(&plane.state).await.expect("nothing"), 0);
    let log = log(&plane, &ada, &id).await;
    assert_eq!(log.len(), 2);
    for delivery in &log {
        assert_eq!(delivery["state"], "delivered");
        assert_eq!(
            (&delivery["response_status"], &delivery["response"]),
            (&json!(202), &json!("thank you"))
        );
        assert!(!delivery.to_string().contains(KEY), "{delivery}");
    }
}

#[tokio::test]
async fn an_incident_is_resolved_once_when_its_condition_ended() {
    let plane = Plane::start_behind(BEHIND_MS).await;
    plane.advance(MINUTE_MS - plane.now_ms() % MINUTE_MS);
    let ada = plane.member("ada@example.com").await;
    let receiver = Receiver::start().await;
    receiver.answer(202);
    let id = pagerduty(&plane, &ada, &receiver).await;
    let alert = share_alert(&plane, &ada, &id).await;
    let firing = async || {
        let list = plane.by(&ada, "GET", "alerts").send().await.expect(200);
        list.body["data"][0]["firing_since"].is_string()
    };
    checks(&plane, &ada, "api", 50, 50).await;
    evaluate_and_deliver(&plane).await;
    let begin = receiver.next().await.json();
    assert_eq!(begin["event_action"], "trigger");
    assert_eq!(begin["dedup_key"], format!("weir/{alert}"));
    let summary =
        "50 % of the checks of namespace api were denied in the last minute (threshold 20 %)";
    assert_eq!(begin["payload"]["summary"], summary);
    assert_eq!(begin["links"][0]["href"], format!("https://limits.test/t/{}/alerts", ada.tenant));
    evaluate_and_deliver(&plane).await;
    assert!(firing().await, "the window of the announcement lasts");
    for _ in 0..4 {
        evaluate_and_deliver(&plane).await;
    }
    let again = receiver.next().await.json();
    assert_eq!(again["dedup_key"], begin["dedup_key"], "the next window belongs to the incident");
    assert_eq!(
        receiver.next().await.json(),
        json!({
            "event_action": "resolve", "dedup_key": format!("weir/{alert}"), "routing_key": KEY,
        })
    );
    assert!(!firing().await);
    evaluate_and_deliver(&plane).await;
    assert_eq!(receiver.count(), 3, "once");
    assert_eq!(log(&plane, &ada, &id).await[0]["kind"], "alert.resolved");
}

#[tokio::test]
async fn all_webhooks_of_an_alert_get_it_and_its_end_and_none_can_be_deleted() {
    let plane = Plane::start_behind(BEHIND_MS).await;
    plane.advance(MINUTE_MS - plane.now_ms() % MINUTE_MS);
    let ada = plane.member("ada@example.com").await;
    let (incidents, people) = (Receiver::start().await, Receiver::start().await);
    incidents.answer(202);
    let first = pagerduty(&plane, &ada, &incidents).await;
    let second = slack(&plane, &ada, &people).await;
    let body = json!({
        "name": "many refusals", "webhook_ids": [first, second], "kind": "denial_share",
        "namespace": "api", "share_percent": 20, "window_s": 60, "checks_min": 10,
    });
    let made = plane.by(&ada, "POST", "alerts").json(&body).send().await.expect(201);
    assert_eq!(made.body["webhook_ids"], body["webhook_ids"]);
    checks(&plane, &ada, "api", 50, 50).await;
    evaluate_and_deliver(&plane).await;
    assert_eq!(incidents.next().await.json()["event_action"], "trigger");
    assert!(people.next().await.json()["text"].is_string());
    for webhook in [&first, &second] {
        let delete = plane.by(&ada, "DELETE", &format!("webhooks/{webhook}")).send().await;
        delete.problem(409, "conflict");
    }
    let off = format!("alerts/{}", made.text("/id"));
    let mut body = body;
    body["enabled"] = json!(false);
    plane.by(&ada, "PUT", &off).json(&body).send().await.expect(200);
    evaluate_and_deliver(&plane).await;
    assert_eq!(incidents.next().await.json()["event_action"], "resolve");
    assert!(people.next().await.json()["text"].is_string());
    body["webhook_ids"] = json!([second]);
    plane.by(&ada, "PUT", &off).json(&body).send().await.expect(200);
    plane.by(&ada, "DELETE", &format!("webhooks/{first}")).send().await.expect(204);
}

#[tokio::test]
async fn an_incident_without_a_delivered_begin_is_not_opened_after_its_end() {
    let plane = Plane::start_behind(BEHIND_MS).await;
    plane.advance(MINUTE_MS - plane.now_ms() % MINUTE_MS);
    let ada = plane.member("ada@example.com").await;
    let receiver = Receiver::start().await;
    receiver.answer(500);
    let id = pagerduty(&plane, &ada, &receiver).await;
    let alert = share_alert(&plane, &ada, &id).await;
    checks(&plane, &ada, "api", 50, 50).await;
    evaluate_and_deliver(&plane).await;
    assert_eq!(receiver.next().await.json()["event_action"], "trigger");
    // Disabling the alert ends what it announced, whatever its window.
    let off = json!({
        "name": "many refusals", "webhook_id": id, "kind": "denial_share", "enabled": false,
        "namespace": "api", "share_percent": 20, "window_s": 60, "checks_min": 10,
    });
    plane.by(&ada, "PUT", &format!("alerts/{alert}")).json(&off).send().await.expect(200);
    receiver.answer(202);
    crate::alerting::evaluate_due(&plane.state).await.expect("evaluated");
    deliver_due(&plane.state).await.expect("sent");
    assert_eq!(receiver.next().await.json()["event_action"], "resolve");
    let log = log(&plane, &ada, &id).await;
    assert_eq!(log[1]["state"], "failed");
    assert_eq!(log[1]["error"], "not sent: the condition ended before an attempt succeeded");
    plane.advance(BEHIND_MS / 2);
    deliver_due(&plane.state).await.expect("nothing");
    assert_eq!(receiver.count(), 2);
}

#[tokio::test]
async fn subjects_of_one_evaluation_are_one_message_in_slack() {
    let plane = Plane::start_behind(BEHIND_MS).await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let receiver = Receiver::start().await;
    let id = slack(&plane, &ada, &receiver).await;
    let rule = quota_rule(&plane, &ada, &["user"]).await;
    let body =
        json!({ "name": "nearly used up", "webhook_id": id, "kind": "quota", "rule_id": rule });
    plane.by(&ada, "POST", "alerts").json(&body).send().await.expect(201);
    let users: Vec<_> = (0..23).map(|at| format!("u-{at}")).collect();
    for user in &users {
        for _ in 0..8 {
            plane.consume(&ada, &rule, user).await;
        }
    }
    let users: Vec<_> = users.iter().map(String::as_str).collect();
    busy(&plane, &ada, &rule, &users).await;
    evaluate_and_deliver(&plane).await;
    let got = receiver.next().await;
    let text = got.json()["text"].as_str().expect("a text").to_owned();
    assert!(text.starts_with("*Alert nearly used up*: Rule monthly: 23 subjects have"), "{text}");
    assert!(text.contains("and 18 more"), "{text}");
    assert!(
        text.contains(&format!("<https://limits.test/t/{}/rules/{rule}|", ada.tenant)),
        "{text}"
    );
    evaluate_and_deliver(&plane).await;
    assert_eq!(receiver.count(), 1, "all of them in one message");
}

#[tokio::test]
async fn a_muted_alert_announces_nothing_until_the_time_is_over_and_the_audit_log_names_the_editor()
{
    let plane = Plane::start_behind(BEHIND_MS).await;
    plane.advance(MINUTE_MS - plane.now_ms() % MINUTE_MS);
    let ada = plane.member("ada@example.com").await;
    let receiver = Receiver::start().await;
    let id = slack(&plane, &ada, &receiver).await;
    let alert = share_alert(&plane, &ada, &id).await;
    let mute = |for_s: u64| {
        let path = format!("alerts/{alert}/mute");
        plane.by(&ada, "POST", &path).json(&json!({ "for_s": for_s })).send()
    };
    assert_eq!(mute(604_801).await.refused_field(), "for_s");
    let muted = mute(120).await.expect(200);
    assert!(muted.body["muted_until"].is_string());
    checks(&plane, &ada, "api", 50, 50).await;
    evaluate_and_deliver(&plane).await;
    assert_eq!(receiver.count(), 0);
    let entry = plane.by(&ada, "GET", "audit?action=alert.mute").send().await.expect(200);
    assert_eq!(entry.text("/data/0/after/muted_until"), muted.text("/muted_until"));
    assert!(mute(0).await.expect(200).body["muted_until"].is_null());
    checks(&plane, &ada, "api", 50, 60).await;
    evaluate_and_deliver(&plane).await;
    let text = receiver.next().await.json()["text"].as_str().expect("a text").to_owned();
    assert!(text.contains("were denied in the last minute (threshold 20 %)"), "{text}");
}

#[tokio::test]
async fn customers_get_an_email_about_their_own_quota_at_the_address_of_their_assignment() {
    let (plane, _outbox) = Plane::mailing().await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let attribute = json!({ "customer_attribute": "user" });
    plane.by(&ada, "PATCH", "").json(&attribute).send().await.expect(200);
    let rule = quota_rule(&plane, &ada, &["user"]).await;
    let plan = plane.by(&ada, "POST", "plans").json(&json!({ "name": "pro" })).send().await;
    let plan = plan.expect(201).text("/id");
    let assign = async |customer: &str, email: Value| {
        let body = json!({ "customer": customer, "plan": plan, "email": email });
        plane.by(&ada, "POST", "assignments").json(&body).send().await
    };
    assert_eq!(assign("u-1", json!("nobody")).await.refused_field(), "email");
    assign("u-1", json!("Billing@U-1.example")).await.expect(201);
    let next = assign("u-1", Value::Null).await.expect(201);
    assert_eq!(next.body["email"], "billing@u-1.example", "the next assignment has it too");
    assign("u-2", json!("u-2@example.com")).await.expect(201);
    let removed = assign("u-2", json!("")).await.expect(201);
    assert_eq!(removed.body["email"], Value::Null);

    let webhook = channel(&plane, &ada, json!({ "name": "c", "kind": "customer_email" })).await;
    let test = plane.by(&ada, "POST", &format!("webhooks/{webhook}/test")).send().await;
    assert_eq!(test.refused_field(), "webhook", "no test is about a customer");
    let share = json!({
        "name": "a", "webhook_id": webhook, "kind": "denial_share", "share_percent": 20,
    });
    let share = plane.by(&ada, "POST", "alerts").json(&share).send().await;
    assert_eq!(share.refused_field(), "webhook_ids");
    let alert = json!({
        "name": "internal", "webhook_id": webhook, "kind": "quota", "rule_id": rule,
        "thresholds_percent": [80],
    });
    plane.by(&ada, "POST", "alerts").json(&alert).send().await.expect(201);
    for user in ["u-1", "u-2", "u-3"] {
        for _ in 0..8 {
            plane.consume(&ada, &rule, user).await;
        }
    }
    busy(&plane, &ada, &rule, &["u-1", "u-2", "u-3"]).await;
    for _ in 0..2 {
        evaluate_and_deliver(&plane).await;
    }
    let log = log(&plane, &ada, &webhook).await;
    assert_eq!(log.len(), 1, "u-1 alone has an address, and gets one message: {log:?}");
    let mail: Value = serde_json::from_str(log[0]["payload"].as_str().expect("a text")).unwrap();
    assert_eq!(mail["to"], "billing@u-1.example");
    let text = mail["text"].as_str().expect("a text");
    assert!(text.starts_with("u-1 has used 80 % of monthly at "), "{text}");
    assert!(text.contains(": 8 of 10 units of this month.\r\n") && !text.contains("internal"));
}
