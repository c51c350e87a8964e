use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use weir_domain::draft::{Action, RuleDraft};
use weir_domain::id::{KeyId, RuleId, TenantId};
use weir_domain::matching::Matched;
use weir_domain::overrides::Overrides;
use weir_domain::request::{Operation, Request, RequestDraft};
use weir_domain::rule::Rule;
use weir_domain::rulebook::ActiveRule;
use weir_domain::time::Timestamp;
use weir_wire::check::CheckAnswer;

use super::*;

fn settings(share: f64, subjects: ShownSubjects) -> DecisionExportSettings {
    DecisionExportSettings { share: Share::new(share).expect("a share"), subjects }
}

fn answer() -> CheckAnswer {
    let text = json!({
        "allowed": false, "denied_by": ["per-user"], "retry_after_ms": null, "delay_ms": 0,
        "limit": null, "remaining": null, "reset_after_ms": null, "limits": [], "degraded": null,
        "rulebook_version": 7,
    });
    serde_json::from_value(text).expect("an answer")
}

fn rule() -> ActiveRule {
    let draft = RuleDraft {
        namespace: "api".to_owned(),
        name: "per-user".to_owned(),
        count_by: vec!["user".into()],
        action: Action::Deny,
        ..RuleDraft::default()
    };
    let rule = Rule::parse(draft).expect("a valid rule");
    ActiveRule::new(RuleId::from_u128(3), rule, Overrides::default())
}

/// Offers a decision of `per-user` about Ada this number of times.
fn offer(export: &DecisionExport, times: usize) {
    let request = Request::parse(RequestDraft {
        namespace: "api".to_owned(),
        attributes: [("user".to_owned(), "ada@example.com".to_owned())].into(),
        cost: 3,
        operation: Operation::Consume,
        idempotency_key: None,
    });
    let requests = [request.expect("a request")];
    let matched = Matched::Denied(vec![Arc::new(rule())]);
    let event = DecisionEvent {
        tenant: TenantId::from_u128(1),
        key: KeyId::from_u128(2),
        at: Timestamp::from_millis(1_763_726_400_000),
        request_id: None,
        trace_id: None,
        took: Duration::from_micros(250),
        known_namespace: true,
        sample: None,
        customer_attribute: None,
        requests: &requests,
        origins: &[],
        matched: &matched,
        answer: &answer(),
    };
    for _ in 0..times {
        export.offer(&event);
    }
}

fn lines(lines: &mut DecisionLines) -> Vec<Value> {
    let mut text = String::new();
    let count = lines.rest(&mut text);
    let values: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(values.len(), count);
    values
}

fn export(share: f64, subjects: ShownSubjects) -> (DecisionExport, DecisionLines) {
    DecisionExport::new(settings(share, subjects), Counter::noop(), Counter::noop())
}

#[test]
fn line_names_the_subject_only_if_it_is_asked_to() {
    let (plain, mut of_plain) = export(1.0, ShownSubjects::Plain);
    offer(&plain, 1);
    let expected = json!({
        "at": "2025-11-21T12:00:00Z",
        "tenant": TenantId::from_u128(1).to_string(), "key": KeyId::from_u128(2).to_string(),
        "namespace": "api", "operation": "check", "cost": 3, "allowed": false,
        "rules": [{
            "rule": "per-user", "allowed": false, "shadow": false,
            "subject": { "user": "ada@example.com" },
        }],
        "degraded": null, "code": null, "rulebook_version": 7, "took_us": 250,
    });
    assert_eq!(lines(&mut of_plain), std::slice::from_ref(&expected));

    let (hashed, mut of_hashed) = export(1.0, ShownSubjects::Hashed);
    offer(&hashed, 1);
    let mut line = lines(&mut of_hashed).remove(0);
    let subject = line["rules"][0]["subject"].take();
    assert_eq!(subject.as_str().map(str::len), Some(32), "{subject}");
    let mut expected = expected;
    expected["rules"][0]["subject"].take();
    assert_eq!(line, expected);
}

#[test]
fn share_is_exact() {
    for (share, exported) in [(1.0, 1_000), (0.5, 500), (0.1, 100), (0.001, 1)] {
        let (export, mut of_export) = export(share, ShownSubjects::Hashed);
        offer(&export, 1_000);
        assert_eq!(lines(&mut of_export).len(), exported, "{share}");
    }
    for wrong in [0.0, -0.1, 1.1, f64::NAN] {
        assert_eq!(Share::new(wrong), None, "{wrong}");
    }
}

#[test]
fn lines_beyond_the_queue_are_dropped() {
    let (export, mut of_export) = export(1.0, ShownSubjects::Hashed);
    offer(&export, QUEUE_MAX + 5);
    assert_eq!(lines(&mut of_export).len(), QUEUE_MAX);
    offer(&export, 1);
    assert_eq!(lines(&mut of_export).len(), 1, "there is room again");
}
