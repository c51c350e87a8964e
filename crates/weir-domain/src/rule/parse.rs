//! The checks of single parts of a draft.

use crate::condition::Condition;
use crate::counted::{Counted, Form};
use crate::draft::{Action, ConditionDraft, Consistency, Op, Over, RuleDraft};
use crate::limit::{BLOCKS_MAX, LIMITS_PER_RULE_MAX, Limit, span_ms};
use crate::names::{self, InvalidField};

/// The most conditions of a rule.
pub const CONDITIONS_MAX: usize = 16;
/// The most attributes that form a subject.
pub const COUNT_BY_MAX: usize = 8;
/// The most characters of a description.
pub const DESCRIPTION_CHARS_MAX: usize = 1000;

pub(super) fn limits_fit(draft: &RuleDraft) -> Result<(), String> {
    match (draft.action, draft.limits.len()) {
        (Action::Limit, 0) if !draft.variants.is_empty() => Ok(()),
        (Action::Limit, _) if !draft.variants.is_empty() => {
            Err("must be empty with `variants`, which have their own".into())
        }
        (Action::Limit, 0) => Err("must hold at least one limit when the action is `limit`".into()),
        (Action::Limit, count) => at_most(count, LIMITS_PER_RULE_MAX, "limits"),
        (Action::Allow | Action::Deny, 0) => Ok(()),
        (action, _) => Err(format!("must be empty when the action is `{}`", action.as_str())),
    }
}

pub(super) fn block_fits(draft: &RuleDraft) -> Result<(), String> {
    if draft.block_ms.is_empty() {
        return Ok(());
    } else if draft.action != Action::Limit {
        return Err("must be null unless the action is `limit`".to_owned());
    }
    at_most(draft.block_ms.len(), BLOCKS_MAX, "lengths")?;
    let mut lengths = draft.block_ms.iter();
    lengths.try_for_each(|length_ms| {
        span_ms("block_ms", *length_ms).map(drop).map_err(|invalid| invalid.reason)
    })
}

pub(super) fn over_fits(draft: &RuleDraft) -> Result<(), String> {
    let has_debt = draft.over == Over::Debt;
    if has_debt && draft.action != Action::Limit {
        Err("must be `deny` unless the action is `limit`".to_owned())
    } else if has_debt && draft.consistency != Consistency::Exact {
        Err(format!("must be `deny` with the consistency `{}`", draft.consistency.as_str()))
    } else {
        Ok(())
    }
}

pub(super) fn count_by(draft: &RuleDraft, wrong: &mut Vec<InvalidField>) {
    if let Err(reason) = at_most(draft.count_by.len(), COUNT_BY_MAX, "attributes") {
        wrong.push(InvalidField::new("count_by", reason));
    }
    for (at, Counted { attribute, form }) in draft.count_by.iter().enumerate() {
        let field = format!("count_by[{at}]");
        if let Err(reason) = names::attribute(attribute) {
            wrong.push(InvalidField::new(field, reason));
        } else if draft.count_by[..at].iter().any(|other| other.attribute == *attribute) {
            wrong.push(InvalidField::new(field, "must not be named twice"));
        } else if matches!(form, Form::Address { ipv6_prefix } if !(1..=128).contains(ipv6_prefix))
        {
            let field = format!("{field}.ipv6_prefix");
            wrong.push(InvalidField::new(field, "must be from 1 to 128"));
        }
    }
}

/// The form in which a condition compares. Only comparisons with whole values use the form in which the rule counts.
pub(super) fn compared_form(count_by: &[Counted], condition: &ConditionDraft) -> Form {
    if !matches!(condition.op, Op::Equals | Op::NotEquals | Op::OneOf | Op::NotOneOf) {
        return Form::Plain;
    }
    let counted = count_by.iter().find(|counted| counted.attribute == condition.attribute);
    counted.map_or(Form::Plain, |counted| counted.form)
}

pub(super) fn conditions(
    drafts: Vec<ConditionDraft>,
    wrong: &mut Vec<InvalidField>,
) -> Vec<Condition> {
    let parse =
        |(at, draft): (usize, ConditionDraft)| Condition::parse(draft, &format!("match[{at}]"));
    let mut conditions = Vec::with_capacity(drafts.len());
    for parsed in drafts.into_iter().enumerate().map(parse) {
        match parsed {
            Ok(condition) => conditions.push(condition),
            Err(invalid) => wrong.push(invalid),
        }
    }
    conditions
}

/// Refuses conditions that cannot all hold for one request.
pub(super) fn contradictions(
    draft: &RuleDraft,
    conditions: &[Condition],
    wrong: &mut Vec<InvalidField>,
) {
    for (at, condition) in conditions.iter().enumerate() {
        let attribute = condition.attribute();
        if condition.draft().op == Op::Absent
            && draft.count_by.iter().any(|counted| counted.attribute == attribute)
        {
            wrong.push(InvalidField::new(
                format!("match[{at}]"),
                format!("demands that `{attribute}` is absent, which the rule counts by: it could never count"),
            ));
        }
        let clash = conditions[..at].iter().any(|other| {
            other.attribute() == attribute
                && match (other.equal_to(), condition.equal_to()) {
                    (Some(value), _) => !condition.holds(Some(value)) && condition.is_decidable(),
                    (_, Some(value)) => !other.holds(Some(value)) && other.is_decidable(),
                    _ => (other.draft().op == Op::Absent) != (condition.draft().op == Op::Absent),
                }
        });
        if clash {
            wrong.push(InvalidField::new(
                format!("match[{at}]"),
                format!(
                    "contradicts an earlier condition on `{attribute}`: the rule could never match"
                ),
            ));
        }
    }
}

/// Refuses leases of limits whose units cannot be taken in advance and returned.
pub(super) fn leasable(limits: &[Limit], wrong: &mut Vec<InvalidField>) {
    if let Some(limit) = limits.iter().find(|limit| !limit.algorithm.leasable()) {
        wrong.push(InvalidField::new(
            "consistency",
            format!("must be `exact` with a limit of the algorithm `{}`", limit.algorithm.name()),
        ));
    }
}

pub(super) fn at_most(count: usize, most: usize, what: &str) -> Result<(), String> {
    if count <= most { Ok(()) } else { Err(format!("must hold at most {most} {what}")) }
}
