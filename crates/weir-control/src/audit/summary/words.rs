//! The texts of limits, conditions and overrides.

use weir_domain::draft::LimitDraft;
use weir_domain::quantity::grouped;
use weir_wire::limits::LimitBody;
use weir_wire::overrides::OverrideBody;
use weir_wire::rules::{ConditionBody, OperandBody};
use weir_wire::time::DateTime;
use weir_wire::words::Action;

/// The most values of a condition that a text names.
const VALUES_MAX: usize = 3;

pub(super) fn arrow(name: &str, before: &str, after: &str) -> String {
    format!("{name} {before} → {after}")
}

pub(super) fn limit(body: &LimitBody) -> String {
    LimitDraft::from(body.clone()).describe()
}

/// Only the capacity, if nothing else differs: `burst 40 → 15`.
pub(super) fn limit_change(before: &LimitBody, after: &LimitBody) -> String {
    let capacity = |body: &LimitBody| match body {
        LimitBody::TokenBucket { capacity, refill_tokens, refill_interval_ms } => {
            Some((*capacity, "burst", (*refill_tokens, *refill_interval_ms)))
        }
        LimitBody::LeakyBucket { capacity, drain_units, drain_interval_ms } => {
            Some((*capacity, "queue", (*drain_units, *drain_interval_ms)))
        }
        _ => None,
    };
    match (capacity(before), capacity(after)) {
        (Some((one, name, rate)), Some((other, same, equal))) if (name, rate) == (same, equal) => {
            arrow(name, &grouped(one), &grouped(other))
        }
        _ => format!("{} → {}", limit(before), limit(after)),
    }
}

pub(super) fn condition(condition: &ConditionBody) -> String {
    let name = &condition.attribute;
    let op = condition.op.title();
    match &condition.value {
        None => format!("{name} {op}"),
        Some(OperandBody::One(text)) => format!("{name} {op} {text}"),
        Some(OperandBody::Many(texts)) if texts.len() > VALUES_MAX => {
            let more = texts.len() - VALUES_MAX;
            format!("{name} {op} {} and {more} more", texts[..VALUES_MAX].join(", "))
        }
        Some(OperandBody::Many(texts)) => format!("{name} {op} {}", texts.join(", ")),
    }
}

/// The effect of an override in place of the rule's limits.
pub(super) fn effect(body: &OverrideBody) -> String {
    match (&body.limits, body.action) {
        (Some(limits), _) => limits.iter().map(limit).collect::<Vec<_>>().join(" and "),
        (None, Some(Action::Deny)) => "always denied".to_owned(),
        (None, _) => "always allowed".to_owned(),
    }
}

/// `2026-12-01 09:30 UTC`.
pub(super) fn time(at: DateTime) -> String {
    format!("{} UTC", at.text()[..16].replace('T', " "))
}
