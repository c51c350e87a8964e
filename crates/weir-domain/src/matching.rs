//! Matching: finds the rules of a namespace that apply to a request, and their limits.

use std::borrow::Cow;
use std::sync::Arc;

use crate::charge::RuleCharge;
use crate::condition::Condition;
use crate::counted::Counted;
use crate::draft::{Action, Mode};
use crate::overrides::{Active, Effect};
use crate::request::Request;
use crate::rulebook::{ActiveRule, Namespace};
use crate::spread::{SpreadBy, SpreadKey};
use crate::subject::{SubjectHasher, SubjectKey};
use crate::time::Timestamp;

/// The most limits that apply to one request, enforced and shadow ones together.
pub const LIMITS_PER_CHECK_MAX: usize = 64;

/// The result of matching a request with all rules, before any counter is read.
#[derive(Debug, Clone)]
pub enum Matched {
    /// These rules deny the request; no limit decides.
    Denied(Vec<Arc<ActiveRule>>),
    /// This rule allows the request; no limit decides.
    Allowed(Arc<ActiveRule>),
    /// These limits decide; empty if overrides or shadow rules allow the request.
    Charged(Vec<RuleCharge>),
    /// No rule matched. The first rule whose conditions hold counts by this attribute, which the request lacks.
    Unmatched(Option<String>),
    /// More than [`LIMITS_PER_CHECK_MAX`] limits apply, so the request cannot be decided.
    TooManyLimits,
}

/// The result of matching a request with one rule.
#[derive(Debug, Clone)]
pub enum RuleMatch {
    /// This condition, by position, does not hold.
    ConditionFailed(usize),
    /// The schedule of the rule excludes this time.
    Inactive,
    /// The request lacks this attribute, which the rule counts by.
    NotCounted(String),
    /// The rule or an override decides without a limit, in this mode.
    Passes(Effect, Mode),
    /// The rule's limits decide.
    Charged(RuleCharge),
}

/// Matches a request with the rules of its namespace.
pub fn matched_in(namespace: &Namespace, request: &Request, now: Timestamp) -> Matched {
    let rules = &namespace.rules;
    let spread_by = &namespace.spread_by;
    match &namespace.index {
        None => matched_of(rules, spread_by, request, now),
        Some(index) => {
            let candidates = index.candidates(request);
            let rules = candidates.iter().map(|&position| &rules[position as usize]);
            matched_of(rules, spread_by, request, now)
        }
    }
}

/// Matches a request with rules whose counters are not spread, enforced ones first. Stops at the first limit beyond
/// [`LIMITS_PER_CHECK_MAX`].
pub fn matched<'a>(
    rules: impl IntoIterator<Item = &'a Arc<ActiveRule>>,
    request: &Request,
    now: Timestamp,
) -> Matched {
    matched_of(rules, &SpreadBy::default(), request, now)
}

fn matched_of<'a>(
    rules: impl IntoIterator<Item = &'a Arc<ActiveRule>>,
    spread_by: &SpreadBy,
    request: &Request,
    now: Timestamp,
) -> Matched {
    let mut denied = Vec::new();
    let mut allowed = None;
    let mut charged = Vec::new();
    let mut limits = 0;
    let mut decides = false;
    let mut missing = None;
    let mut subjects = Subjects { spread_by, last: None };
    for active in rules {
        match match_with_subjects(active, request, now, &mut subjects) {
            RuleMatch::Charged(charge) => {
                limits += charge.limits().len();
                if limits > LIMITS_PER_CHECK_MAX {
                    return Matched::TooManyLimits;
                }
                charged.push(charge);
            }
            RuleMatch::Passes(Effect::Deny, Mode::Enforce) => denied.push(Arc::clone(active)),
            RuleMatch::Passes(Effect::Allow, Mode::Enforce)
                if active.rule.action() == Action::Allow =>
            {
                allowed.get_or_insert_with(|| Arc::clone(active));
            }
            // An override that allows lifts its own rule and no other; a rule that is not enforced and allows
            // or denies influences nothing.
            RuleMatch::Passes(..) => decides = true,
            RuleMatch::NotCounted(attribute) => missing = missing.or(Some(attribute)),
            RuleMatch::ConditionFailed(_) | RuleMatch::Inactive => {}
        }
    }
    if !denied.is_empty() {
        Matched::Denied(denied)
    } else if let Some(active) = allowed {
        Matched::Allowed(active)
    } else if charged.is_empty() && !decides {
        Matched::Unmatched(missing)
    } else {
        // A rule that is enforced for some subjects can be alone for this one.
        if !charged.is_sorted_by_key(RuleCharge::is_alone) {
            charged.sort_by_key(RuleCharge::is_alone);
        }
        Matched::Charged(charged)
    }
}

/// Matches a request with one rule whose counters are not spread.
pub fn match_rule(active: &Arc<ActiveRule>, request: &Request, now: Timestamp) -> RuleMatch {
    match_rule_of(active, &SpreadBy::default(), request, now)
}

/// Matches a request with one rule of a namespace whose counters are spread by these attributes.
pub fn match_rule_of(
    active: &Arc<ActiveRule>,
    spread_by: &SpreadBy,
    request: &Request,
    now: Timestamp,
) -> RuleMatch {
    match_with_subjects(active, request, now, &mut Subjects { spread_by, last: None })
}

/// The last subject that was computed. Consecutive rules mostly count by the same attributes.
#[derive(Debug)]
struct Subjects<'a, 's> {
    spread_by: &'s SpreadBy,
    last: Option<(&'a [Counted], (SubjectKey, SpreadKey))>,
}

impl<'a> Subjects<'a, '_> {
    fn keys(
        &mut self,
        count_by: &'a [Counted],
        values: &[Cow<'_, str>],
    ) -> (SubjectKey, SpreadKey) {
        match self.last {
            // Rules share equal parts, so most are equal by their address.
            Some((known, keys)) if std::ptr::eq(known, count_by) || known == count_by => keys,
            _ => {
                let keys = (subject_key(count_by, values), self.spread_by.key(count_by, values));
                self.last = Some((count_by, keys));
                keys
            }
        }
    }
}

fn match_with_subjects<'a>(
    active: &'a Arc<ActiveRule>,
    request: &Request,
    now: Timestamp,
    subjects: &mut Subjects<'a, '_>,
) -> RuleMatch {
    let rule = &active.rule;
    if !rule.is_active(now) {
        return RuleMatch::Inactive;
    }
    let holds =
        |condition: &Condition| rule.holds(condition, request.attribute(condition.attribute()));
    if let Some(at) = rule.first_unmet(holds) {
        return RuleMatch::ConditionFailed(at);
    }
    match rule.action() {
        Action::Allow => return RuleMatch::Passes(Effect::Allow, rule.mode()),
        Action::Deny => return RuleMatch::Passes(Effect::Deny, rule.mode()),
        Action::Limit => {}
    }
    let values = match rule.subject_values(|name| request.attribute(name)) {
        Ok(values) => values,
        Err(missing) => return RuleMatch::NotCounted(missing.to_owned()),
    };
    let override_limits = match active.overrides.find(rule, &values, now) {
        None => None,
        Some(found) => match &found.effect {
            Effect::Limits(limits) => Some(limits),
            effect => {
                let part = rule.part(active.id, || subjects.keys(rule.count_by(), &values).0);
                return RuleMatch::Passes(effect.clone(), part.mode);
            }
        },
    };
    let (subject, spread) = subjects.keys(rule.count_by(), &values);
    let mut charge = RuleCharge::new(Arc::clone(active), subject, spread);
    if let Some(limits) = override_limits {
        charge = charge.with_override(limits);
    }
    charge.keep_share = rule.keep_share(|name| request.attribute(name));
    RuleMatch::Charged(charge)
}

/// The charge of the subject with these values. The conditions of the rule are ignored. `exception` is the override or plan that
/// applies to the subject.
pub fn charge_of(
    active: &Arc<ActiveRule>,
    spread_by: &SpreadBy,
    values: &[impl AsRef<str>],
    exception: Option<&Active>,
) -> RuleCharge {
    let count_by = active.rule.count_by();
    let subject = subject_key(count_by, values);
    let charge = RuleCharge::new(active.clone(), subject, spread_by.key(count_by, values));
    match exception.map(|active| &active.effect) {
        Some(Effect::Limits(limits)) => charge.with_override(limits),
        _ => charge,
    }
}

/// The subject of `values`, given in the order and the forms of `count_by`.
pub fn subject_key(count_by: &[impl AsRef<str>], values: &[impl AsRef<str>]) -> SubjectKey {
    let mut hasher = SubjectHasher::default();
    for (attribute, value) in count_by.iter().zip(values) {
        hasher.value(attribute.as_ref(), value.as_ref());
    }
    hasher.finish()
}

#[cfg(test)]
mod tests;
