//! In what two versions of a rule differ, in words.

use weir_wire::rules::RuleBody;
use weir_wire::words::Consistency;

use crate::model::duration;
use crate::model::words;

/// One thing that differs: what it was, and what it is; `None` where it was not or is no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub what: String,
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
        ("block", a.block_ms != b.block_ms),
        ("failure", a.on_store_failure != b.on_store_failure),
        ("consistency", a.consistency != b.consistency),
    ];
    differs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

/// All that differs. Of limits and conditions those that stayed are left out, and each other one is beside what it became.
pub fn differences(a: &RuleBody, b: &RuleBody) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut add = |what: &str, before: Option<String>, after: Option<String>| {
        if before != after {
            found.push(Difference { what: what.to_owned(), before, after });
        }
    };
    let mut field =
        |what: &str, said: fn(&RuleBody) -> String| add(what, Some(said(a)), Some(said(b)));
    field("Namespace", |rule| rule.namespace.clone());
    field("Name", |rule| rule.name.clone());
    field("Description", |rule| rule.description.clone());
    for (before, after) in paired(&a.conditions, &b.conditions, |a, b| a.attribute == b.attribute) {
        add("Condition", before.map(words::whole_condition), after.map(words::whole_condition));
    }
    let counts = |rule: &RuleBody| Some(words::counted_by(&rule.count_by));
    add("Counts", counts(a), counts(b));
    let action = |rule: &RuleBody| Some(rule.action.as_str().to_owned());
    add("Action", action(a), action(b));
    for (before, after) in paired(&a.limits, &b.limits, |a, b| a.algorithm() == b.algorithm()) {
        add("Limit", before.map(words::limit), after.map(words::limit));
    }
    let block = |rule: &RuleBody| rule.block_ms.map(duration::short);
    add("Block after a denial", block(a), block(b));
    let mut field =
        |what: &str, said: fn(&RuleBody) -> String| add(what, Some(said(a)), Some(said(b)));
    field("Mode", |rule| words::mode(rule.mode).to_owned());
    field("While Redis is away", |rule| words::failure(rule.on_store_failure).to_owned());
    field("Decided", |rule| match rule.consistency {
        Consistency::Exact => "by Redis each time".to_owned(),
        Consistency::Leased => "by gates, from units taken in advance".to_owned(),
    });
    found
}

/// The items that are not on both sides: those alike beside each other, then the others in their order.
fn paired<'a, T: PartialEq>(
    before: &'a [T],
    after: &'a [T],
    alike: impl Fn(&T, &T) -> bool,
) -> Vec<(Option<&'a T>, Option<&'a T>)> {
    let mut added: Vec<&T> = after.iter().collect();
    let mut take = |wanted: &dyn Fn(&T) -> bool| {
        added.iter().position(|it| wanted(it)).map(|at| added.remove(at))
    };
    let gone: Vec<&T> = before.iter().filter(|old| take(&|new| new == *old).is_none()).collect();
    let mut pairs: Vec<_> =
        gone.into_iter().map(|old| (Some(old), take(&|new| alike(old, new)))).collect();
    for pair in pairs.iter_mut().filter(|pair| pair.1.is_none()) {
        pair.1 = take(&|_| true);
    }
    pairs.extend(added.into_iter().map(|new| (None, Some(new))));
    pairs
}

#[cfg(test)]
mod tests;
