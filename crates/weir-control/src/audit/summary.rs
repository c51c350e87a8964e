//! The difference that a change made, as a short text: `burst 40 → 15; mode Shadow → Enforced`.

use serde_json::Value;
use weir_domain::quantity::counted;
use weir_wire::counted::CountedBody;
use weir_wire::overrides::OverrideBody;
use weir_wire::rules::{RuleBody, VariantBody, controls};

mod fields;
mod words;

use words::{arrow, condition, condition_change, effect, limit, limit_change, time};

/// The most differences that a text names.
const NAMED_MAX: usize = 3;

/// The difference, or the limits of a new or deleted rule or override. `None` if there is nothing to say.
pub(crate) fn summary(
    action: &str,
    before: Option<&Value>,
    after: Option<&Value>,
) -> Option<String> {
    let parts = match (action.split('.').next(), before, after) {
        _ if action == "override.bulk" => import(after?),
        (Some("rule"), Some(before), Some(after)) => match (read(before), read(after)) {
            (Some(before), Some(after)) => rule_differences(&before, &after),
            _ => fields::differences(before, after),
        },
        (Some("rule"), one, other) => {
            let rule: RuleBody = read(one.or(other)?)?;
            rule.limits.iter().map(limit).collect()
        }
        (Some("override"), Some(before), Some(after)) => match (read(before), read(after)) {
            (Some(before), Some(after)) => override_differences(&before, &after),
            _ => fields::differences(before, after),
        },
        (Some("override"), one, other) => {
            let body: OverrideBody = read(one.or(other)?)?;
            let from = body.starts_at.map(|at| format!(" from {}", time(at))).unwrap_or_default();
            let until = body.expires_at.map(|at| format!(" until {}", time(at)));
            vec![effect(&body) + &from + &until.unwrap_or_default()]
        }
        (_, Some(before), Some(after)) => fields::differences(before, after),
        _ => Vec::new(),
    };
    joined(parts)
}

fn joined(mut parts: Vec<String>) -> Option<String> {
    let more = parts.len().saturating_sub(NAMED_MAX);
    parts.truncate(NAMED_MAX);
    let text = parts.join("; ");
    match (text.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(text),
        (false, more) => Some(format!("{text}; and {more} more")),
    }
}

fn read<T: serde::de::DeserializeOwned>(body: &Value) -> Option<T> {
    serde_json::from_value(body.clone()).ok()
}

fn rule_differences(before: &RuleBody, after: &RuleBody) -> Vec<String> {
    let mut parts = Differences::default();
    parts.lists(
        (&before.limits, &after.limits),
        |one, other| one.algorithm() == other.algorithm(),
        limit,
        limit_change,
    );
    parts.texts("mode", before.mode.title(), after.mode.title());
    parts.texts("action", before.action.as_str(), after.action.as_str());
    parts.lists(
        (&before.conditions, &after.conditions),
        |one, other| one.attribute == other.attribute,
        condition,
        condition_change,
    );
    let counts = |rule: &RuleBody| match rule.count_by.as_slice() {
        [] => "one shared counter".to_owned(),
        counted => {
            let titles: Vec<_> = counted.iter().map(CountedBody::title).collect();
            format!("for each {}", titles.join(" and "))
        }
    };
    parts.texts("counts", &counts(before), &counts(after));
    parts.lists(
        (&before.variants, &after.variants),
        |one, other| one.name == other.name,
        |body| format!("variant {} with {} %", body.name, body.percent),
        variant_change,
    );
    let others = controls(before).into_iter().zip(controls(after));
    for (before, after) in others.filter(|(control, _)| control.label != "Variants") {
        parts.texts(&before.label.to_lowercase(), &before.text, &after.text);
    }
    let outage = |rule: &RuleBody| rule.on_store_failure.title();
    parts.texts("without Redis", outage(before), outage(after));
    parts.texts("consistency", before.consistency.as_str(), after.consistency.as_str());
    parts.texts("over the limit", before.over.title(), after.over.title());
    parts.texts("namespace", &before.namespace, &after.namespace);
    parts.texts("name", &before.name, &after.name);
    if before.description != after.description {
        parts.0.push("description".to_owned());
    }
    parts.0
}

fn variant_change(before: &VariantBody, after: &VariantBody) -> String {
    let mut parts = Differences::default();
    let share = |body: &VariantBody| format!("{} %", body.percent);
    parts.texts("share", &share(before), &share(after));
    parts.lists(
        (&before.limits, &after.limits),
        |one, other| one.algorithm() == other.algorithm(),
        limit,
        limit_change,
    );
    format!("variant {}: {}", before.name, parts.0.join(", "))
}

fn override_differences(before: &OverrideBody, after: &OverrideBody) -> Vec<String> {
    let mut parts = Differences::default();
    match (&before.limits, &after.limits) {
        (Some(one), Some(other)) => parts.lists((one, other), |_, _| true, limit, limit_change),
        _ => parts.texts("effect", &effect(before), &effect(after)),
    }
    let starts = |body: &OverrideBody| body.starts_at.map_or_else(|| "at once".to_owned(), time);
    parts.texts("starts", &starts(before), &starts(after));
    let ends = |body: &OverrideBody| body.expires_at.map_or_else(|| "never".to_owned(), time);
    parts.texts("expires", &ends(before), &ends(after));
    if before.reason != after.reason {
        parts.0.push("reason".to_owned());
    }
    parts.0
}

/// The differences found so far.
#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn texts(&mut self, name: &str, before: &str, after: &str) {
        if before != after {
            self.0.push(arrow(name, before, after));
        }
    }

    /// The differences of two lists. Items that differ are paired with one that is `alike`.
    fn lists<T: PartialEq>(
        &mut self,
        (before, after): (&[T], &[T]),
        alike: impl Fn(&T, &T) -> bool,
        text: impl Fn(&T) -> String,
        change: impl Fn(&T, &T) -> String,
    ) {
        let mut added: Vec<&T> = after.iter().filter(|item| !before.contains(item)).collect();
        for old in before.iter().filter(|item| !after.contains(item)) {
            let new = added.iter().position(|new| alike(old, new)).map(|at| added.remove(at));
            self.0
                .push(new.map_or_else(|| format!("removed {}", text(old)), |new| change(old, new)));
        }
        self.0.extend(added.into_iter().map(|new| format!("added {}", text(new))));
    }
}

/// The numbers of an import of overrides.
fn import(after: &Value) -> Vec<String> {
    let number = |name: &str| after.get(name).and_then(Value::as_u64).unwrap_or(0);
    let texts = [
        (number("created"), "created override", "created overrides"),
        (number("updated"), "replaced override", "replaced overrides"),
    ];
    let some = texts.into_iter().filter(|(number, ..)| *number > 0);
    some.map(|(number, one, many)| counted(number, one, many)).collect()
}

#[cfg(test)]
mod tests;
