//! From a draft to a rule: all checks of what a tenant wrote.

use std::sync::Arc;

use super::controls::{Blocks, Controls};
use super::{BLOCKS_MAX, CONDITIONS_MAX, COUNT_BY_MAX, DESCRIPTION_CHARS_MAX, Rule};
use crate::algorithm::Algorithm;
use crate::approximation;
use crate::condition::Condition;
use crate::counted::{Counted, Form};
use crate::draft::{Action, ConditionDraft, Consistency, LimitDraft, Op, Operand, Over, RuleDraft};
use crate::limit::{InvalidLimit, LIMITS_PER_RULE_MAX, Limit, span_ms};
use crate::names::{self, InvalidField};

impl Rule {
    /// Checks the whole draft and reports everything that is wrong with it.
    ///
    /// Limits get slots 0, 1, 2…; [`Rule::with_slots`] sets others.
    pub fn parse(mut draft: RuleDraft) -> Result<Self, Vec<InvalidField>> {
        let mut wrong = Vec::new();
        let mut check = |field: &str, result: Result<(), String>| {
            if let Err(reason) = result {
                wrong.push(InvalidField::new(field, reason));
            }
        };
        check("namespace", names::namespace(&draft.namespace).map_err(str::to_owned));
        check("name", names::rule(&draft.name).map_err(str::to_owned));
        check("description", names::prose(&draft.description, DESCRIPTION_CHARS_MAX));
        check("match", at_most(draft.conditions.len(), CONDITIONS_MAX, "conditions"));
        check("limits", limits_fit(&draft));
        check("block_ms", block_fits(&draft));
        check("over", over_fits(&draft));
        count_by(&draft, &mut wrong);
        let mut compared = std::mem::take(&mut draft.conditions);
        for condition in &mut compared {
            let form = compared_form(&draft.count_by, condition);
            match &mut condition.value {
                _ if form == Form::Plain => {}
                Some(Operand::One(value)) => *value = form.of(value).into_owned(),
                Some(Operand::Many(values)) => {
                    for value in values.iter_mut() {
                        *value = form.of(value).into_owned();
                    }
                }
                None => {}
            }
        }
        let conditions = conditions(compared, &mut wrong);
        contradictions(&draft, &conditions, &mut wrong);
        let mut limits = parse_limits(&draft.limits, "limits", &mut wrong);
        let controls = Controls::parse(&draft, &limits, &mut wrong);
        if let Some(variant) = controls.as_deref().and_then(|controls| controls.variants.first()) {
            limits = variant.limits.to_vec();
        }
        match draft.consistency {
            Consistency::Exact => {}
            Consistency::Leased => leasable(&limits, &mut wrong),
            Consistency::Approximate => wrong.extend(approximation::refusal(&draft, &limits)),
        }
        if wrong.is_empty() {
            Ok(Self::new(draft, conditions, limits, controls))
        } else {
            Err(wrong)
        }
    }
}

/// Checks the limits of a rule or an override. `path` is their place in the body.
pub(crate) fn parse_limits(
    drafts: &[LimitDraft],
    path: &str,
    wrong: &mut Vec<InvalidField>,
) -> Vec<Limit> {
    let mut limits = Vec::with_capacity(drafts.len());
    for ((at, draft), slot) in drafts.iter().enumerate().zip(0..) {
        match Algorithm::parse(draft.clone()) {
            Ok(algorithm) => limits.push(Limit { slot, algorithm }),
            Err(InvalidLimit { field, reason }) => {
                wrong.push(InvalidField::new(format!("{path}[{at}].{field}"), reason));
            }
        }
    }
    limits
}

fn limits_fit(draft: &RuleDraft) -> Result<(), String> {
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

fn block_fits(draft: &RuleDraft) -> Result<(), String> {
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

/// The blocks of a draft that has several lengths.
pub(super) fn blocks(draft: &RuleDraft, wrong: &mut Vec<InvalidField>) -> Option<Arc<Blocks>> {
    let reason = match (draft.block_ms.len(), draft.block_memory_ms) {
        (0 | 1, None) => return None,
        (0 | 1, Some(_)) => "must be null unless `block_ms` has several lengths".to_owned(),
        (_, None) => "must be given if `block_ms` has several lengths".to_owned(),
        (_, Some(memory_ms)) => match span_ms("block_memory_ms", memory_ms) {
            Err(invalid) => invalid.reason,
            Ok(_) => {
                let lengths_ms = draft.block_ms.clone().into();
                return Some(Arc::new(Blocks { lengths_ms, memory_ms }));
            }
        },
    };
    wrong.push(InvalidField::new("block_memory_ms", reason));
    None
}

fn over_fits(draft: &RuleDraft) -> Result<(), String> {
    let has_debt = draft.over == Over::Debt;
    if has_debt && draft.action != Action::Limit {
        Err("must be `deny` unless the action is `limit`".to_owned())
    } else if has_debt && draft.consistency != Consistency::Exact {
        Err(format!("must be `deny` with the consistency `{}`", draft.consistency.as_str()))
    } else {
        Ok(())
    }
}

fn count_by(draft: &RuleDraft, wrong: &mut Vec<InvalidField>) {
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

fn conditions(drafts: Vec<ConditionDraft>, wrong: &mut Vec<InvalidField>) -> Vec<Condition> {
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
fn contradictions(draft: &RuleDraft, conditions: &[Condition], wrong: &mut Vec<InvalidField>) {
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
fn leasable(limits: &[Limit], wrong: &mut Vec<InvalidField>) {
    if let Some(limit) = limits.iter().find(|limit| !limit.algorithm.leasable()) {
        wrong.push(InvalidField::new(
            "consistency",
            format!("must be `exact` with a limit of the algorithm `{}`", limit.algorithm.name()),
        ));
    }
}

fn at_most(count: usize, most: usize, what: &str) -> Result<(), String> {
    if count <= most { Ok(()) } else { Err(format!("must hold at most {most} {what}")) }
}
