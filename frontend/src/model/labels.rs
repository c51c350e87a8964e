//! Texts for rules.

use weir_domain::algorithm::LimitDraft;
use weir_wire::limits::{AlgorithmName, LimitBody};
use weir_wire::rules::{ConditionBody, OperandBody, RuleBody};
use weir_wire::words::{Action, Mode, OnStoreFailure, Op};

use crate::model::duration::short;

/// The whole rule in one or two sentences.
pub fn sentence(rule: &RuleBody) -> String {
    let requests = matches(&rule.conditions);
    let mut text = match rule.action {
        Action::Allow => format!("{} are always allowed; no limits apply.", capital(&requests)),
        Action::Deny => format!("{} are always denied.", capital(&requests)),
        Action::Limit => {
            let limits: Vec<String> = rule.limits.iter().map(limit).collect();
            let limits =
                if limits.is_empty() { "no limits yet".to_owned() } else { limits.join(", and ") };
            format!("{}, {}: {limits}.", capital(&requests), counted_by(&rule.count_by))
        }
    };
    if let Some(block_ms) = rule.block_ms {
        text += " Denied subjects are blocked for ";
        text += &short(block_ms);
        text += ".";
    }
    match rule.mode {
        Mode::Enforce => {}
        Mode::Shadow => text += " Shadow: denials are reported but not enforced.",
        Mode::Off => text += " Off: the rule has no effect.",
    }
    text
}

/// The requests that the conditions match.
pub fn matches(conditions: &[ConditionBody]) -> String {
    if conditions.is_empty() {
        return "all requests".to_owned();
    }
    let conditions: Vec<String> = conditions.iter().map(condition).collect();
    format!("requests where {}", conditions.join(" and "))
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
pub fn counted_by(attributes: &[String]) -> String {
    if attributes.is_empty() {
        "one shared counter".to_owned()
    } else {
        format!("for each {}", attributes.join(" and "))
    }
}

/// One limit.
pub fn limit(body: &LimitBody) -> String {
    LimitDraft::from(body.clone()).describe()
}

/// The display name of an algorithm.
pub const fn algorithm(name: AlgorithmName) -> &'static str {
    name.kind().title()
}

/// When to use an algorithm.
pub const fn algorithm_hint(name: AlgorithmName) -> &'static str {
    name.kind().hint()
}

/// The display name of a mode.
pub const fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Enforce => "Enforced",
        Mode::Shadow => "Shadow",
        Mode::Off => "Off",
    }
}

/// The behaviour while Redis is unavailable.
pub const fn failure(answer: OnStoreFailure) -> &'static str {
    match answer {
        OnStoreFailure::Allow => "Allow",
        OnStoreFailure::Deny => "Deny",
        OnStoreFailure::Local => "Enforce per gate, with a share of the limit",
    }
}

/// The display name of an operator in a form.
pub const fn op(op: Op) -> &'static str {
    match op {
        Op::Equals => "is",
        Op::NotEquals => "is not",
        Op::OneOf => "is one of",
        Op::Prefix => "starts with",
        Op::Suffix => "ends with",
        Op::Cidr => "is in CIDR",
        Op::Regex => "matches regex",
        Op::Exists => "exists",
        Op::Absent => "does not exist",
    }
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
    match condition.op {
        Op::Equals => format!("{name} is {operand}"),
        Op::NotEquals => format!("{name} is not {operand}"),
        Op::OneOf => format!("{name} is one of {operand}"),
        Op::Prefix => format!("{name} starts with {operand}"),
        Op::Suffix => format!("{name} ends with {operand}"),
        Op::Cidr => format!("{name} is in {operand}"),
        Op::Regex => format!("{name} matches {operand}"),
        Op::Exists => format!("{name} exists"),
        Op::Absent => format!("{name} does not exist"),
    }
}

#[cfg(test)]
mod tests;
