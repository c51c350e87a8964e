//! Rules in words.

use std::collections::BTreeMap;

use weir_wire::limits::{AlgorithmName, LimitBody};
use weir_wire::rules::{ConditionBody, OperandBody, RuleBody};
use weir_wire::words::{Action, Mode, OnStoreFailure, Op, Period};

use crate::model::duration::{period, short};
use crate::model::number::grouped;

/// The whole rule as one sentence or two.
pub fn sentence(rule: &RuleBody) -> String {
    let who = matches(&rule.conditions);
    let mut text = match rule.action {
        Action::Allow => format!("{} always pass; no limit is asked.", capital(&who)),
        Action::Deny => format!("{} are always refused.", capital(&who)),
        Action::Limit => {
            let limits: Vec<String> = rule.limits.iter().map(limit).collect();
            let limits =
                if limits.is_empty() { "no limit yet".to_owned() } else { limits.join(", and ") };
            format!("{}, {}: {limits}.", capital(&who), counted_by(&rule.count_by))
        }
    };
    if let Some(block_ms) = rule.block_ms {
        text += " Whoever is denied stays out for ";
        text += &short(block_ms);
        text += ".";
    }
    match rule.mode {
        Mode::Enforce => {}
        Mode::Shadow => text += " In shadow: it counts and reports, and refuses nobody.",
        Mode::Off => text += " Off: it does nothing.",
    }
    text
}

/// Which requests it matches.
pub fn matches(conditions: &[ConditionBody]) -> String {
    if conditions.is_empty() {
        return "all requests".to_owned();
    }
    let conditions: Vec<String> = conditions.iter().map(condition).collect();
    format!("requests where {}", conditions.join(" and "))
}

/// One condition; of a long list of values the first ones.
pub fn condition(condition: &ConditionBody) -> String {
    condition_naming(condition, 3)
}

/// One condition with all its values.
pub fn whole_condition(condition: &ConditionBody) -> String {
    condition_naming(condition, usize::MAX)
}

/// Whom it counts.
pub fn counted_by(attributes: &[String]) -> String {
    if attributes.is_empty() {
        "all together".to_owned()
    } else {
        format!("for each {}", attributes.join(" and "))
    }
}

/// Somebody who is counted.
pub fn subject(attributes: &BTreeMap<String, String>) -> String {
    if attributes.is_empty() {
        return "all together".to_owned();
    }
    attributes.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}

/// One limit.
pub fn limit(body: &LimitBody) -> String {
    match body {
        LimitBody::FixedWindow { limit, window_ms } => {
            format!("{} in each {}", grouped(*limit), clock_window(*window_ms))
        }
        LimitBody::SlidingWindowLog { limit, window_ms, count_denied } => {
            let denied = if *count_denied { ", counting denied ones too" } else { "" };
            format!("{} in any {}{denied}", grouped(*limit), period(*window_ms))
        }
        LimitBody::SlidingWindowCounter { limit, window_ms } => {
            format!("{} in any {}, estimated", grouped(*limit), period(*window_ms))
        }
        LimitBody::TokenBucket { capacity, refill_tokens, refill_interval_ms } => format!(
            "bursts of {}, refilled by {} per {}",
            grouped(*capacity),
            grouped(*refill_tokens),
            period(*refill_interval_ms)
        ),
        LimitBody::LeakyBucket { capacity, drain_units, drain_interval_ms } => format!(
            "a queue of {}, drained by {} per {}",
            grouped(*capacity),
            grouped(*drain_units),
            period(*drain_interval_ms)
        ),
        LimitBody::Spacing { interval_ms } => format!("at least {} apart", short(*interval_ms)),
        LimitBody::Quota { limit, period, time_zone, anchor_day } => {
            let start = anchor(*period, *anchor_day);
            format!("{} in each calendar {}{start} ({time_zone})", grouped(*limit), period.as_str())
        }
    }
}

/// What an algorithm is called.
pub const fn algorithm(name: AlgorithmName) -> &'static str {
    match name {
        AlgorithmName::FixedWindow => "Fixed window",
        AlgorithmName::SlidingWindowLog => "Sliding window, exact",
        AlgorithmName::SlidingWindowCounter => "Sliding window, estimated",
        AlgorithmName::TokenBucket => "Token bucket",
        AlgorithmName::LeakyBucket => "Leaky bucket",
        AlgorithmName::Spacing => "Spacing",
        AlgorithmName::Quota => "Calendar quota",
    }
}

/// What an algorithm is good for.
pub const fn algorithm_hint(name: AlgorithmName) -> &'static str {
    match name {
        AlgorithmName::FixedWindow => {
            "So many in each window of the clock. Cheapest; up to twice the limit can pass around a boundary."
        }
        AlgorithmName::SlidingWindowLog => {
            "So many in any window, exactly. Remembers every request: for small limits such as log-ins."
        }
        AlgorithmName::SlidingWindowCounter => {
            "So many in any window, estimated from two. Constant memory: for large limits."
        }
        AlgorithmName::TokenBucket => "Bursts up to the capacity, then a steady rate.",
        AlgorithmName::LeakyBucket => {
            "A queue with a constant outflow: admitted requests are told how long to wait."
        }
        AlgorithmName::Spacing => "One at a time, at least so far apart.",
        AlgorithmName::Quota => "So many in each day, week, month or year of a time zone.",
    }
}

/// What a mode is called.
pub const fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Enforce => "Enforced",
        Mode::Shadow => "Shadow",
        Mode::Off => "Off",
    }
}

/// What happens while Redis is away.
pub const fn failure(answer: OnStoreFailure) -> &'static str {
    match answer {
        OnStoreFailure::Allow => "Let requests pass",
        OnStoreFailure::Deny => "Refuse requests",
        OnStoreFailure::Local => "Each gate counts alone, with its share of the limit",
    }
}

/// What an operator is called in a form.
pub const fn op(op: Op) -> &'static str {
    match op {
        Op::Equals => "is",
        Op::NotEquals => "is not",
        Op::OneOf => "is one of",
        Op::Prefix => "begins with",
        Op::Suffix => "ends with",
        Op::Cidr => "is in the network",
        Op::Regex => "matches the pattern",
        Op::Exists => "is there",
        Op::Absent => "is missing",
    }
}

/// The first letter as a capital one.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn condition_naming(condition: &ConditionBody, most: usize) -> String {
    let name = &condition.attribute;
    let operand = match &condition.value {
        Some(OperandBody::One(text)) if text.is_empty() => "(empty)".to_owned(),
        Some(OperandBody::One(text)) => text.clone(),
        Some(OperandBody::Many(texts)) if texts.len() > most => {
            format!("{} and {} more", texts[..most].join(", "), texts.len() - most)
        }
        Some(OperandBody::Many(texts)) => texts.join(", "),
        None => String::new(),
    };
    match condition.op {
        Op::Equals => format!("{name} is {operand}"),
        Op::NotEquals => format!("{name} is not {operand}"),
        Op::OneOf => format!("{name} is one of {operand}"),
        Op::Prefix => format!("{name} begins with {operand}"),
        Op::Suffix => format!("{name} ends with {operand}"),
        Op::Cidr => format!("{name} is in {operand}"),
        Op::Regex => format!("{name} matches {operand}"),
        Op::Exists => format!("{name} is there"),
        Op::Absent => format!("{name} is missing"),
    }
}

fn clock_window(window_ms: u64) -> String {
    let length = period(window_ms);
    if length.starts_with(|c: char| c.is_ascii_digit()) {
        format!("window of {length}")
    } else {
        format!("{length} of the clock")
    }
}

fn anchor(period: Period, day: u16) -> String {
    const WEEK: [&str; 7] =
        ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    match (period, day) {
        (_, 1) | (Period::Day, _) => String::new(),
        (Period::Week, day) => {
            let day = WEEK.get(usize::from(day).saturating_sub(1)).unwrap_or(&"?");
            format!(" from {day}")
        }
        (Period::Month | Period::Year, day) => format!(" from day {day}"),
    }
}

#[cfg(test)]
mod tests;
