//! Texts for rules.

use weir_domain::algorithm::LimitDraft;
use weir_domain::approximation::bound_in_words;
use weir_domain::quantity::{grouped, short};
use weir_wire::counted::CountedBody;
use weir_wire::limits::LimitBody;
use weir_wire::rules::{ConditionBody, OperandBody, RuleBody, controls};
use weir_wire::words::{Action, Mode, Op, Period, Reach};

/// The whole rule in one or two sentences.
pub fn sentence(rule: &RuleBody) -> String {
    let requests = matches(&rule.conditions);
    let mut text = match rule.action {
        Action::Allow => format!("{} are always allowed; no limits apply.", capital(&requests)),
        Action::Deny => format!("{} are always denied.", capital(&requests)),
        Action::Limit => {
            let limits: Vec<String> = rule.limits.iter().map(limit).collect();
            let limits = match (limits.is_empty(), rule.variants.is_empty()) {
                (true, true) => "no limits yet".to_owned(),
                (true, false) => "the limits of its variant".to_owned(),
                (false, _) => limits.join(", and "),
            };
            format!("{}, {}: {limits}.", capital(&requests), counted_by(&rule.count_by))
        }
    };
    if let Some(bound) = bound(rule) {
        text += " ";
        text += &bound;
    }
    for control in controls(rule).iter().filter(|control| control.is_set) {
        text += " ";
        text += control.label;
        text += ": ";
        text += &control.text;
        text += ".";
    }
    match rule.mode {
        Mode::Enforce => {}
        Mode::Report => {
            text += " Report: nothing is denied, and the answer names the rule when a limit is exceeded.";
        }
        Mode::Shadow => text += " Shadow: denials are reported but not enforced.",
        Mode::Off => text += " Off: the rule has no effect.",
    }
    text
}

/// The first limit in all regions together, if each of several counts a rule by itself: `3 regions × 100/min = up to 300/min worldwide.`
pub fn worldwide(rule: &RuleBody, regions: usize) -> Option<String> {
    let factor = u32::try_from(regions).ok().filter(|regions| *regions > 1)?;
    let counts = rule.action == Action::Limit && rule.reach == Reach::Region;
    let is_number = |limit: &&LimitBody| !matches!(limit, LimitBody::Spacing { .. });
    let limit = rule.limits.first().filter(is_number).filter(|_| counts)?;
    let all = limit_in_short(&limit.clone().times(factor));
    Some(format!(" {regions} regions × {} = up to {all} worldwide.", limit_in_short(limit)))
}

/// The requests that the conditions match.
pub fn matches(conditions: &[ConditionBody]) -> String {
    if conditions.is_empty() {
        return "all requests".to_owned();
    }
    let conditions: Vec<String> = conditions.iter().map(condition).collect();
    format!("requests where {}", conditions.join(" and "))
}

/// The requests that the conditions match, for narrow columns.
pub fn matches_in_short(conditions: &[ConditionBody]) -> String {
    if conditions.is_empty() {
        return "All requests".to_owned();
    }
    conditions.iter().map(condition).collect::<Vec<_>>().join(" and ")
}

/// One condition; a long list of values is shortened.
pub fn condition(condition: &ConditionBody) -> String {
    condition_with(condition, 3)
}

/// One condition with all its values.
pub fn whole_condition(condition: &ConditionBody) -> String {
    condition_with(condition, usize::MAX)
}

/// The subjects that are counted separately.
pub fn counted_by(attributes: &[CountedBody]) -> String {
    if attributes.is_empty() {
        "one shared counter".to_owned()
    } else {
        let titles: Vec<_> = attributes.iter().map(CountedBody::title).collect();
        format!("for each {}", titles.join(" and "))
    }
}

/// One limit.
pub fn limit(body: &LimitBody) -> String {
    LimitDraft::from(body.clone()).describe()
}

/// The effect of an override or a plan in place of the rule's limits.
pub fn effect(limits: Option<&[LimitBody]>, action: Option<Action>) -> String {
    match (limits, action) {
        (Some(limits), _) => capital(&limits.iter().map(limit).collect::<Vec<_>>().join("; ")),
        (None, Some(Action::Deny)) => "Deny".to_owned(),
        (None, _) => "Allow".to_owned(),
    }
}

/// One limit on a chip: `40 burst, 10/s`, `20,000/d`.
pub fn limit_in_short(body: &LimitBody) -> String {
    let per = |units: u64, length_ms: u64| {
        let length = short(length_ms);
        format!("{}/{}", grouped(units), length.strip_prefix("1 ").unwrap_or(&length))
    };
    match body {
        LimitBody::FixedWindow { limit, window_ms }
        | LimitBody::SlidingWindowLog { limit, window_ms, .. }
        | LimitBody::SlidingWindowCounter { limit, window_ms } => per(*limit, *window_ms),
        LimitBody::TokenBucket { capacity, refill_tokens, refill_interval_ms } => {
            format!("{} burst, {}", grouped(*capacity), per(*refill_tokens, *refill_interval_ms))
        }
        LimitBody::LeakyBucket { capacity, drain_units, drain_interval_ms } => {
            format!("queue of {}, {}", grouped(*capacity), per(*drain_units, *drain_interval_ms))
        }
        LimitBody::Spacing { interval_ms } => format!("{} apart", short(*interval_ms)),
        LimitBody::Quota { limit, period: Period::None, .. } => {
            format!("{} in all", grouped(*limit))
        }
        LimitBody::Quota { limit, period, .. } => {
            format!("{}/{}", grouped(*limit), period.as_str())
        }
        LimitBody::Concurrency { capacity, .. } => format!("{} at once", grouped(*capacity)),
    }
}

/// The bound of an approximate rule.
fn bound(rule: &RuleBody) -> Option<String> {
    let limits: Vec<_> = rule.limits.iter().cloned().map(LimitDraft::from).collect();
    bound_in_words(rule.consistency.into(), &limits)
}

/// The text with its first letter in upper case.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn condition_with(condition: &ConditionBody, max: usize) -> String {
    let name = &condition.attribute;
    let operand = match &condition.value {
        Some(OperandBody::One(text)) if text.is_empty() => "(empty)".to_owned(),
        Some(OperandBody::One(text)) => text.clone(),
        Some(OperandBody::Many(texts)) if texts.len() > max => {
            format!("{} and {} more", texts[..max].join(", "), texts.len() - max)
        }
        Some(OperandBody::Many(texts)) => texts.join(", "),
        None => String::new(),
    };
    let op = condition.op.title();
    match condition.op {
        Op::Exists | Op::Absent => format!("{name} {op}"),
        _ => format!("{name} {op} {operand}"),
    }
}

#[cfg(test)]
mod tests;
