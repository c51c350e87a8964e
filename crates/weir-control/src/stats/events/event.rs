//! Changes and alerts as events.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use weir_domain::quantity::{counted, grouped};
use weir_domain::time::Timestamp;
use weir_store::{AlertEvent, ChangeEvent, RuleRow};
use weir_wire::stats::{Event, EventKind};

use crate::audit::summary::summary;

/// An event without details.
pub(super) fn event(kind: EventKind, at: Timestamp) -> Event {
    Event {
        kind,
        at: at.into(),
        until: None,
        summary: None,
        subject: None,
        firings: None,
        step_ms: None,
        action: None,
        actor: None,
        rule_id: None,
        rule: None,
        namespace: None,
        alert: None,
        checks: None,
    }
}

/// A change; `rules` are those of overrides, by id.
pub(super) fn changed(change: ChangeEvent, rules: &HashMap<String, RuleRow>) -> Event {
    let rule_of_override = rule_of(&change);
    let summary = summary(&change.action, change.before.as_ref(), change.after.as_ref());
    let object = change.after.or(change.before).unwrap_or_default();
    let (kind, rule_id) = match change.action.split('.').next() {
        Some("rule") => (EventKind::RuleChange, Some(change.object_id)),
        Some("override") => (EventKind::OverrideChange, rule_of_override),
        _ => (EventKind::Enforcement, None),
    };
    let (rule, namespace) = match (kind, rule_id.as_ref().and_then(|id| rules.get(id))) {
        (EventKind::RuleChange, _) => (text(&object, "/name"), text(&object, "/namespace")),
        (_, Some(row)) => (Some(row.name.clone()), Some(row.namespace.clone())),
        _ => (None, None),
    };
    Event {
        rule_id,
        rule,
        namespace,
        summary,
        subject: subject(&object),
        action: Some(change.action),
        actor: Some(change.actor),
        ..event(kind, change.at)
    }
}

/// The id of the rule of a changed override.
pub(super) fn rule_of(change: &ChangeEvent) -> Option<String> {
    text(change.after.as_ref().or(change.before.as_ref())?, "/rule_id")
}

/// Announcements of an alert.
pub(super) fn fired(alert: &AlertEvent) -> Event {
    let namespace =
        text(&alert.data, "/rule/namespace").or_else(|| text(&alert.data, "/namespace"));
    Event {
        until: (alert.firings > 1).then(|| alert.until.into()),
        summary: announced(alert),
        subject: subject(&alert.data),
        firings: Some(alert.firings),
        rule_id: text(&alert.data, "/rule/id"),
        rule: text(&alert.data, "/rule/name"),
        namespace,
        alert: text(&alert.data, "/alert/name"),
        ..event(EventKind::Alert, alert.at)
    }
}

/// `7 subjects, last customer globex at 100%`, or `3 times, last 41% of 1,200 checks denied`.
fn announced(alert: &AlertEvent) -> Option<String> {
    let number = |name: &str| alert.data.get(name).and_then(Value::as_u64);
    let last = if let Some(percent) = number("threshold_percent") {
        format!("{} at {percent}%", label(&subject(&alert.data)?))
    } else {
        let denied = number("denied")?;
        let checks = number("checks")?;
        format!("{}% of {} checks denied", denied * 100 / checks.max(1), grouped(checks))
    };
    Some(match (alert.firings, alert.subjects) {
        (1, _) => last,
        (_, subjects @ 2..) => format!("{}, last {last}", counted(subjects, "subject", "subjects")),
        (firings, _) => format!("{}, last {last}", counted(firings, "time", "times")),
    })
}

/// `customer globex, region eu`.
fn label(subject: &BTreeMap<String, String>) -> String {
    if subject.is_empty() {
        return "all requests".to_owned();
    }
    let one = |(name, value): (&String, &String)| match value.as_str() {
        "" => format!("{name} (empty)"),
        value => format!("{name} {value}"),
    };
    subject.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn subject(object: &Value) -> Option<BTreeMap<String, String>> {
    serde_json::from_value(object.get("subject")?.clone()).ok()
}

fn text(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}
