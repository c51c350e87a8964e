//! Alerts in Slack, PagerDuty and e-mail: a receiver that refuses what the services would refuse, and a real SMTP server.

mod receiver;

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{MailServer, MailServerOptions, PATIENT_MS, Stack, Tenant, seconds, until};
use receiver::Receiver;

const DASHBOARD: &str = "https://limits.example.com";
const KEY: &str = "0123456789abcdef0123456789abcdef";

/// A stack whose only control plane sends e-mail over this server, and webhooks to this machine.
async fn stack(mail: &MailServer) -> Stack {
    let mut stack = Stack::start(PATIENT_MS).await;
    let settings = [
        ("WEIR_SMTP_URL", format!("smtp://127.0.0.1:{}", mail.port)),
        ("WEIR_SMTP_FROM", "Weir <weir@example.com>".to_owned()),
        ("WEIR_DASHBOARD_URL", DASHBOARD.to_owned()),
        ("WEIR_WEBHOOK_ALLOW_PRIVATE", "on".to_owned()),
    ];
    stack.control = stack.control_that_has(&settings).await;
    stack
}

async fn webhook(tenant: &Tenant<'_>, mut body: Value) -> String {
    body["name"] = body["kind"].clone();
    let made = tenant.admin(Method::POST, "/webhooks", &body).await.expect(201);
    made.text("/webhook/id")
}

/// Sends a test, and returns its delivery once it has ended.
async fn tested(tenant: &Tenant<'_>, webhook: &str) -> Value {
    let path = format!("/webhooks/{webhook}/test");
    let sent = tenant.admin(Method::POST, &path, &Value::Null).await.expect(202);
    let path = format!("/webhooks/{webhook}/deliveries");
    let mut ended = Value::Null;
    until(seconds(30), "the test ended", async || {
        let log = tenant.admin(Method::GET, &path, &Value::Null).await.expect(200);
        let log = log.body["data"].as_array().expect("a list").clone();
        let test = log.into_iter().find(|delivery| delivery["id"] == sent.body["id"]);
        ended = test.unwrap_or_default();
        ended["state"] != "pending"
    })
    .await;
    ended
}

#[tokio::test]
async fn an_alert_and_its_end_reach_people_in_slack_pagerduty_and_by_email() {
    let (receiver, mail) =
        (Receiver::start(), MailServer::start(MailServerOptions::default()).await);
    let stack = stack(&mail).await;
    let tenant = Tenant::sign_up(&stack).await;
    let slack = json!({ "kind": "slack", "url": format!("{}/slack", receiver.url) });
    let pagerduty = json!({
        "kind": "pagerduty", "url": format!("{}/pagerduty", receiver.url), "routing_key": KEY,
    });
    let email = json!({ "kind": "email", "addresses": ["ada@example.com", "ops@example.com"] });
    let mut ids = Vec::new();
    for (body, status) in [(slack, 200), (pagerduty, 202), (email, 250)] {
        let id = webhook(&tenant, body).await;
        let test = tested(&tenant, &id).await;
        assert_eq!(test["state"], "delivered", "{test}");
        assert_eq!(test["response_status"], status, "{test}");
        assert!(!test.to_string().contains(KEY), "{test}");
        ids.push(id);
    }
    for address in ["ada@example.com", "ops@example.com"] {
        let subject = mail.letter_to(address).await.at("/headers/subject").clone();
        assert_eq!(subject, "Weir test: Test of the webhook \"email\": nothing is wrong");
    }
    let refused = json!({ "kind": "email", "addresses": ["refused@example.com"] });
    let refused = tested(&tenant, &webhook(&tenant, refused).await).await;
    assert_eq!(refused["state"], "failed", "not sent again: {refused}");
    assert_eq!(refused["error"], "the server refused it with 550");

    let limits = json!([{ "algorithm": "quota", "limit": 5, "period": "year" }]);
    let rule = tenant.rule(&json!({ "name": "yearly", "limits": limits })).await;
    for _ in 0..4 {
        assert!(tenant.check(0, &json!({ "attributes": {} })).await.expect(200).allowed());
    }
    let alert = |webhook: &String, enabled: bool| {
        json!({
            "name": "nearly used up", "webhook_id": webhook, "kind": "quota", "rule_id": rule.id,
            "enabled": enabled,
        })
    };
    let mut alerts = Vec::new();
    for id in &ids {
        let made = tenant.admin(Method::POST, "/alerts", &alert(id, true)).await.expect(201);
        alerts.push(made.text("/id"));
    }
    let sentence = "80 % of the quota is used (threshold 80 %)";
    let page = format!("{DASHBOARD}/t/{}/rules/{}", tenant.id, rule.id);
    let slack = newest(&receiver, "/slack", sentence).await;
    assert!(slack["text"].as_str().is_some_and(|text| text.contains(&page)), "{slack}");
    let begin = newest(&receiver, "/pagerduty", sentence).await;
    assert_eq!(begin["links"][0]["href"], page);
    assert_eq!(begin["payload"]["severity"], "warning");
    let letter = letter(&mail, "Weir alert: Rule \"yearly\": 80 % of the quota is used").await;
    assert!(letter.contains(&page) && letter.contains("4 of 5 per year (80 %)"), "{letter}");

    for (id, alert_id) in ids.iter().zip(&alerts) {
        let path = format!("/alerts/{alert_id}");
        tenant.admin(Method::PUT, &path, &alert(id, false)).await.expect(200);
    }
    newest(&receiver, "/slack", "ended: it was disabled").await;
    let key = begin["dedup_key"].as_str().expect("a key");
    let end = newest(&receiver, "/pagerduty", "\"resolve\"").await;
    until(seconds(30), "the incident is resolved", async || {
        let all = receiver.accepted("/pagerduty");
        all.iter().any(|event| event["event_action"] == "resolve" && event["dedup_key"] == key)
    })
    .await;
    assert_eq!(end["routing_key"], KEY);
    self::letter(&mail, "Weir resolved: Alert \"nearly used up\" ended").await;
}

/// Waits for a message that contains a text.
async fn newest(receiver: &Receiver, path: &str, text: &str) -> Value {
    let mut found = None;
    until(seconds(60), &format!("{path} gets {text}"), async || {
        let all = receiver.accepted(path);
        found = all.into_iter().rev().find(|body| body.to_string().contains(text));
        found.is_some()
    })
    .await;
    found.expect("it was found")
}

/// Waits for a message to both recipients whose subject begins so, and returns its text.
async fn letter(mail: &MailServer, subject: &str) -> String {
    let mut text = String::new();
    until(seconds(60), &format!("messages with the subject {subject}"), async || {
        ["ada@example.com", "ops@example.com"].iter().all(|address| {
            let letters = mail.letters_to(address);
            let is_it = |subject_of: &Value| {
                subject_of.as_str().is_some_and(|whole| whole.starts_with(subject))
            };
            let found = letters.iter().find(|letter| is_it(letter.at("/headers/subject")));
            text = found.map(|letter| letter.text().to_owned()).unwrap_or_default();
            found.is_some()
        })
    })
    .await;
    text
}
