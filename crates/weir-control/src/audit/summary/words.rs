//! The texts of limits, conditions and overrides.

use weir_domain::draft::LimitDraft;
use weir_domain::quantity::{grouped, period, short};
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

/// The parameters that differ, if the algorithm is the same: `burst 40 → 15`.
pub(super) fn limit_change(before: &LimitBody, after: &LimitBody) -> String {
    let both = parameters(before).into_iter().zip(parameters(after));
    let differing = both.filter(|(one, other)| (&one.text, one.per) != (&other.text, other.per));
    let parts: Vec<_> = differing.map(|(one, other)| one.change(&other)).collect();
    // Texts of times that differ by less than a minute are the same.
    if before.algorithm() != after.algorithm() || parts.is_empty() {
        return format!("{} → {}", limit(before), limit(after));
    }
    parts.join(", ")
}

/// A parameter of a limit, or a number of units and their interval.
struct Parameter {
    name: &'static str,
    text: String,
    per: Option<u64>,
}

impl Parameter {
    fn new(name: &'static str, text: impl Into<String>) -> Self {
        Self { name, text: text.into(), per: None }
    }

    fn units(name: &'static str, units: u64) -> Self {
        Self::new(name, grouped(units))
    }

    fn rate(name: &'static str, units: u64, interval_ms: u64) -> Self {
        Self { per: Some(interval_ms), ..Self::units(name, units) }
    }

    fn change(&self, after: &Self) -> String {
        let per = |side: &Self| side.per.map(|ms| format!(" per {}", period(ms)));
        let (old, new) = (per(self).unwrap_or_default(), per(after).unwrap_or_default());
        let old = if old == new { "" } else { &old };
        arrow(self.name, &format!("{}{old}", self.text), &format!("{}{new}", after.text))
    }
}

/// Limits of one algorithm have the same parameters in the same order.
fn parameters(limit: &LimitBody) -> Vec<Parameter> {
    match limit {
        LimitBody::FixedWindow { limit, window_ms }
        | LimitBody::SlidingWindowCounter { limit, window_ms } => {
            vec![Parameter::rate("limit", *limit, *window_ms)]
        }
        LimitBody::SlidingWindowLog { limit, window_ms, count_denied } => {
            let denied = if *count_denied { "counted" } else { "not counted" };
            vec![
                Parameter::rate("limit", *limit, *window_ms),
                Parameter::new("denied requests", denied),
            ]
        }
        LimitBody::TokenBucket { capacity, refill_tokens, refill_interval_ms } => vec![
            Parameter::units("burst", *capacity),
            Parameter::rate("refill", *refill_tokens, *refill_interval_ms),
        ],
        LimitBody::LeakyBucket { capacity, drain_units, drain_interval_ms } => vec![
            Parameter::units("queue", *capacity),
            Parameter::rate("drain", *drain_units, *drain_interval_ms),
        ],
        LimitBody::Spacing { interval_ms } => {
            vec![Parameter::new("spacing", short(*interval_ms))]
        }
        LimitBody::Quota { limit, period, time_zone, anchor_day, ends_at } => vec![
            Parameter::units("limit", *limit),
            Parameter::new("period", period.as_str()),
            Parameter::new("time zone", time_zone),
            Parameter::new("first day", anchor_day.to_string()),
            Parameter::new("end", ends_at.map_or_else(|| "none".to_owned(), time)),
        ],
        LimitBody::Concurrency { capacity, lease_ms } => vec![
            Parameter::units("leases", *capacity),
            Parameter::new("lease time", short(*lease_ms)),
        ],
    }
}

/// The difference of two conditions of one attribute, without the operator if it stays.
pub(super) fn condition_change(before: &ConditionBody, after: &ConditionBody) -> String {
    let (old, new) = (condition(before), condition(after));
    let operator = format!("{} {}", before.attribute, before.op.title());
    match (&before.value, &after.value) {
        _ if before.op != after.op => arrow("match", &old, &new),
        (Some(OperandBody::Many(one)), Some(OperandBody::Many(other))) => {
            let parts = [("added", missing(other, one)), ("removed", missing(one, other))];
            let parts = parts.into_iter().filter(|(_, texts)| !texts.is_empty());
            let parts: Vec<_> =
                parts.map(|(verb, texts)| format!("{verb} {}", listed(&texts))).collect();
            // Only the order can differ.
            let change =
                if parts.is_empty() { "in another order".to_owned() } else { parts.join(", ") };
            format!("match {operator}: {change}")
        }
        _ => {
            let value = new.strip_prefix(operator.as_str()).unwrap_or(&new).trim_start();
            arrow("match", &old, value)
        }
    }
}

/// The texts that are not among `others`.
fn missing<'a>(texts: &'a [String], others: &[String]) -> Vec<&'a str> {
    texts.iter().filter(|text| !others.contains(text)).map(String::as_str).collect()
}

fn listed(texts: &[&str]) -> String {
    let more = texts.len().saturating_sub(VALUES_MAX);
    let named = texts[..texts.len() - more].join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}

pub(super) fn condition(condition: &ConditionBody) -> String {
    let name = &condition.attribute;
    let op = condition.op.title();
    match &condition.value {
        None => format!("{name} {op}"),
        Some(OperandBody::One(text)) => format!("{name} {op} {text}"),
        Some(OperandBody::Many(texts)) => {
            let texts: Vec<_> = texts.iter().map(String::as_str).collect();
            format!("{name} {op} {}", listed(&texts))
        }
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
