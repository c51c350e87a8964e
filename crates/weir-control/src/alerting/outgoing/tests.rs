//! The bodies of messages, compared with the rules that Slack and PagerDuty publish.

use std::collections::BTreeMap;

use serde_json::Value;
use weir_domain::id::{AlertId, RuleId, TenantId};
use weir_domain::time::Timestamp;

use super::{end_of_test, mail, mail_of, pagerduty, slack, with_key};
use crate::alerting::message::{
    AlertName, QuotaReached, Resolved, RuleName, ShareReached, WebhookMessage,
};
use crate::alerting::notice::{Notice, NoticeContext, Quoting};

const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);
const KEY: &str = "0123456789abcdef0123456789ABCDEF";

fn alert() -> AlertName {
    AlertName { id: AlertId::from_u128(7), name: "Checkout <denials>".to_owned() }
}

fn rule() -> RuleName {
    let (namespace, name) = ("api".to_owned(), "api-per-customer".to_owned());
    RuleName { id: RuleId::from_u128(9), namespace, name }
}

fn share() -> ShareReached {
    ShareReached {
        alert: alert(),
        rule: Some(rule()),
        namespace: None,
        denied: 348,
        would_deny: 0,
        checks: 1000,
        share_percent: 20,
        window_s: 300,
        from: NOW.plus_ms(-300_000),
        to: NOW,
    }
}

fn quota(subject: &str, used: u64) -> WebhookMessage {
    let subject = BTreeMap::from([("user".to_owned(), subject.to_owned())]);
    WebhookMessage::Quota(QuotaReached {
        alert: alert(),
        rule: rule(),
        subject,
        threshold_percent: 80,
        used,
        limit: 10,
        period: "month",
        between: Some((NOW, NOW.plus_ms(1000))),
    })
}

fn ended(disabled: bool) -> WebhookMessage {
    WebhookMessage::Resolved(Resolved {
        alert: alert(),
        rule: None,
        namespace: Some("api".to_owned()),
        since: NOW.plus_ms(-600_000),
        at: NOW,
        disabled,
    })
}

fn notice(messages: &[WebhookMessage], quoting: Quoting) -> Notice {
    let context = NoticeContext {
        tenant_id: TenantId::from_u128(3),
        webhook: "webhook_1",
        dashboard_url: Some("https://limits.test"),
        at: NOW,
    };
    let messages: Vec<_> = messages.iter().collect();
    Notice::of(&messages, quoting, context).expect("a message")
}

/// All messages of these tests: one of each kind, and a group.
fn all() -> Vec<Vec<WebhookMessage>> {
    let group = (0..7).map(|at| quota(&format!("u-{at}"), 8 + at % 3)).collect();
    vec![
        vec![WebhookMessage::Test { webhook: "on call".to_owned() }],
        vec![WebhookMessage::DenialShare(share())],
        vec![quota("u-1", 8)],
        group,
        vec![quota(&"<!channel> @everyone `x` https://evil.example ".repeat(300), 10)],
        vec![ended(false)],
    ]
}

/// <https://docs.slack.dev/reference/block-kit/blocks>: what an incoming webhook accepts.
fn accepted_by_slack(body: &Value) {
    let text = body["text"].as_str().expect("a text");
    assert!((1..=40_000).contains(&text.chars().count()));
    let blocks = body["blocks"].as_array().expect("blocks");
    assert!((1..=50).contains(&blocks.len()));
    let texts = blocks.iter().flat_map(|block| match block["type"].as_str() {
        Some("section") => vec![&block["text"]],
        Some("context") => block["elements"].as_array().expect("elements").iter().collect(),
        other => panic!("a block of type {other:?}"),
    });
    for text in texts {
        assert_eq!(text["type"], "mrkdwn");
        let text = text["text"].as_str().expect("a text");
        assert!((1..=3000).contains(&text.chars().count()), "{text}");
        assert!(!text.contains("<!") && !text.contains("@everyone"), "{text}");
    }
}

/// <https://developer.pagerduty.com/docs/events-api-v2/trigger-events>: what the Events API v2 accepts.
fn accepted_by_pagerduty(event: &Value) {
    assert_eq!(event["routing_key"].as_str().map(str::len), Some(32));
    assert!(event["dedup_key"].as_str().is_some_and(|key| (1..=255).contains(&key.len())));
    match event["event_action"].as_str() {
        Some("resolve") => {}
        Some("trigger") => {
            let payload = &event["payload"];
            let summary = payload["summary"].as_str().expect("a summary");
            assert!((1..=1024).contains(&summary.chars().count()));
            assert!(payload["source"].as_str().is_some_and(|source| !source.is_empty()));
            let severity = payload["severity"].as_str().expect("a severity");
            assert!(["critical", "error", "warning", "info"].contains(&severity));
            assert!(payload["timestamp"].is_string() && payload["custom_details"].is_object());
            for link in event["links"].as_array().expect("links") {
                assert!(link["href"].is_string() && link["text"].is_string());
            }
        }
        other => panic!("an action {other:?}"),
    }
}

#[test]
fn every_message_has_a_form_that_slack_and_pagerduty_accept() {
    for messages in all() {
        accepted_by_slack(&slack::body(&notice(&messages, Quoting::Slack)));
        let stored = pagerduty::body(&notice(&messages, Quoting::Plain)).to_string();
        assert!(!stored.contains(KEY));
        let sent = with_key(&stored, KEY).expect("an event");
        accepted_by_pagerduty(&serde_json::from_str(&sent).expect("JSON"));
    }
}

#[test]
fn a_share_is_a_sentence_with_the_rule_the_share_the_period_and_the_threshold() {
    let said = |share| notice(&[WebhookMessage::DenialShare(share)], Quoting::Plain);
    let first = said(share());
    assert_eq!(
        first.headline,
        "Rule api-per-customer denied 34 % of checks in the last 5 minutes (threshold 20 %)"
    );
    assert_eq!(first.lines, ["348 of 1000 checks"]);
    let page = format!("https://limits.test/t/{}/rules/{}", first.tenant_id, rule().id);
    assert_eq!(first.link, Some(page));
    let shadow = said(ShareReached { would_deny: 348, window_s: 3600, ..share() });
    assert_eq!(
        shadow.headline,
        "Rule api-per-customer would have denied (shadow mode) 34 % of checks in the last hour \
         (threshold 20 %)"
    );
    let everything = said(ShareReached { rule: None, window_s: 60, ..share() });
    assert_eq!(
        everything.headline,
        "34 % of all checks were denied in the last minute (threshold 20 %)"
    );
    assert!(everything.link.is_some_and(|link| link.ends_with("/alerts")));
    let named = ShareReached { rule: None, namespace: Some("api".to_owned()), ..share() };
    assert_eq!(
        said(named).headline,
        "34 % of the checks of namespace api were denied in the last 5 minutes (threshold 20 %)"
    );
}

#[test]
fn many_subjects_are_one_message_with_the_first_names_and_a_count() {
    let group: Vec<_> = (0..7).map(|at| quota(&format!("u-{at}"), 8 + at % 3)).collect();
    let grouped = notice(&group, Quoting::Plain);
    assert_eq!(
        grouped.headline,
        "Rule api-per-customer: 7 subjects have used at least 80 % of their quota"
    );
    assert_eq!(grouped.lines.len(), 6);
    assert!(grouped.lines[0].starts_with("user=u-2: 10 of 10 per month (100 %), until 2026-"));
    assert_eq!(grouped.lines[5], "and 2 more");
    let one = notice(&[quota("u-1", 8)], Quoting::Plain);
    assert_eq!(
        one.headline,
        "Rule api-per-customer: user=u-1 has used 80 % of its quota (threshold 80 %)"
    );
}

#[test]
fn an_incident_and_its_end_have_the_same_key() {
    let event = |message| pagerduty::body(&notice(&[message], Quoting::Plain));
    let begin = event(WebhookMessage::DenialShare(share()));
    let end = event(ended(false));
    assert_eq!(
        (&begin["event_action"], &begin["payload"]["severity"]),
        (&"trigger".into(), &"error".into())
    );
    assert_eq!((&end["event_action"], &end["dedup_key"]), (&"resolve".into(), &begin["dedup_key"]));
    assert_eq!(event(quota("u-1", 8))["payload"]["severity"], "warning");
    assert_eq!(event(quota("u-1", 8))["dedup_key"], begin["dedup_key"], "one incident of an alert");

    let test = event(WebhookMessage::Test { webhook: "on call".to_owned() });
    assert_ne!(test["dedup_key"], begin["dedup_key"]);
    let end = end_of_test(&test.to_string()).expect("a test opens an incident");
    assert_eq!(serde_json::from_str::<Value>(&end).expect("JSON")["dedup_key"], test["dedup_key"]);
    assert_eq!(end_of_test(&end), None, "the end of a test has no end");
}

#[test]
fn values_of_callers_are_no_links_and_no_mentions() {
    let hostile = [quota("<!here> @everyone `x` https://evil.example/login", 9)];
    let slack = notice(&hostile, Quoting::Slack);
    let subject = "`user=&lt;!here&gt; @\u{200b}everyone 'x' https://evil.example/login`";
    assert!(slack.headline.contains(subject), "{}", slack.headline);
    let mail = mail::body(&notice(&hostile, Quoting::Mail), "ada@example.com");
    let text = mail["text"].as_str().expect("a text");
    assert!(!text.contains("evil.example"), "{text}");
    let address = mail::body(&notice(&[quota("10.1.2.3", 9)], Quoting::Mail), "ada@example.com");
    assert!(address["text"].as_str().expect("a text").contains("user=10.1.2.3"));
}

#[test]
fn a_mail_has_one_recipient_a_subject_and_a_text_with_the_page() {
    let body = mail::body(
        &notice(&[WebhookMessage::DenialShare(share())], Quoting::Mail),
        "ada@example.com",
    );
    let mail = mail_of("delivery_1".to_owned(), &body.to_string(), NOW).expect("a message");
    assert_eq!((mail.to.as_str(), mail.id.as_str()), ("ada@example.com", "delivery_1"));
    assert_eq!(
        mail.subject,
        "Weir alert: Rule \"api-per-customer\" denied 34 % of checks in the last 5 minutes \
         (threshold 20 %)"
    );
    assert!(
        mail.text.contains("https://limits.test/t/") && mail.text.contains("348 of 1000 checks")
    );
    assert!(mail.text.lines().all(|line| line.len() < 200), "{}", mail.text);
    let end = mail::body(&notice(&[ended(true)], Quoting::Mail), "ada@example.com");
    let subject = "Weir resolved: Alert \"Checkout denials\" ended: it was disabled";
    assert_eq!(end["subject"], subject);
    assert_eq!(mail_of(String::new(), "{}", NOW).map(|mail| mail.to), None);
}
