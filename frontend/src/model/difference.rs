//! The differences between two versions of a rule, as text.

use weir_wire::rules::{Control, RuleBody, controls};

use crate::model::labels;

/// One difference; a side is `None` if it has no such item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub label: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// The fields that differ, in the order of the form.
pub fn fields(a: &RuleBody, b: &RuleBody) -> Vec<&'static str> {
    let differs = [
        ("namespace", a.namespace != b.namespace),
        ("name", a.name != b.name),
        ("action", a.action != b.action),
        ("mode", a.mode != b.mode),
        ("description", a.description != b.description),
        ("conditions", a.conditions != b.conditions),
        ("count by", a.count_by != b.count_by),
        ("limits", a.limits != b.limits),
        ("controls", controls(a) != controls(b)),
        ("failure", a.on_store_failure != b.on_store_failure),
        ("consistency", a.consistency != b.consistency),
        ("over", a.over != b.over),
    ];
    differs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

/// All differences. Unchanged limits and conditions are omitted; changed ones are paired with their successors.
pub fn differences(a: &RuleBody, b: &RuleBody) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut add = |label: &str, before: Option<String>, after: Option<String>| {
        if before != after {
            found.push(Difference { label: label.to_owned(), before, after });
        }
    };
    let mut field =
        |label: &str, text: fn(&RuleBody) -> String| add(label, Some(text(a)), Some(text(b)));
    field("Namespace", |rule| rule.namespace.clone());
    field("Name", |rule| rule.name.clone());
    field("Description", |rule| rule.description.clone());
    for (before, after) in paired(&a.conditions, &b.conditions, |a, b| a.attribute == b.attribute) {
        add("Condition", before.map(labels::whole_condition), after.map(labels::whole_condition));
    }
    let counts = |rule: &RuleBody| Some(labels::counted_by(&rule.count_by));
    add("Count by", counts(a), counts(b));
    let action = |rule: &RuleBody| Some(rule.action.as_str().to_owned());
    add("Action", action(a), action(b));
    for (before, after) in paired(&a.limits, &b.limits, |a, b| a.algorithm() == b.algorithm()) {
        add("Limit", before.map(labels::limit), after.map(labels::limit));
    }
    for (before, after) in controls(a).into_iter().zip(controls(b)) {
        let text = |control: Control| control.is_set.then_some(control.text);
        add(before.label, text(before), text(after));
    }
    let mut field =
        |label: &str, text: fn(&RuleBody) -> String| add(label, Some(text(a)), Some(text(b)));
    field("Mode", |rule| rule.mode.title().to_owned());
    field("If Redis is unavailable", |rule| rule.on_store_failure.title().to_owned());
    field("Consistency", |rule| rule.consistency.as_str().to_owned());
    field("If a check costs more than is left", |rule| rule.over.title().to_owned());
    found
}

/// Pairs the items that are on one side only: matching items first, then the others in order.
fn paired<'a, T: PartialEq>(
    before: &'a [T],
    after: &'a [T],
    alike: impl Fn(&T, &T) -> bool,
) -> Vec<(Option<&'a T>, Option<&'a T>)> {
    let mut added: Vec<&T> = after.iter().collect();
    let mut take = |accepts: &dyn Fn(&T) -> bool| {
        added.iter().position(|item| accepts(item)).map(|at| added.remove(at))
    };
    let removed: Vec<&T> = before.iter().filter(|old| take(&|new| new == *old).is_none()).collect();
    let mut pairs: Vec<_> =
        removed.into_iter().map(|old| (Some(old), take(&|new| alike(old, new)))).collect();
    for pair in pairs.iter_mut().filter(|pair| pair.1.is_none()) {
        pair.1 = take(&|_| true);
    }
    pairs.extend(added.into_iter().map(|new| (None, Some(new))));
    pairs
}

#[cfg(test)]
mod tests;
