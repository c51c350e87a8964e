//! Rules, in their checked form.

use std::borrow::Cow;
use std::sync::Arc;

use crate::algorithm::Algorithm;
use crate::approximation;
use crate::condition::Condition;
use crate::counted::{Counted, Form};
use crate::draft::{
    Action, ConditionDraft, Consistency, LimitDraft, Mode, OnStoreFailure, Op, Operand, Over,
    RuleDraft,
};
use crate::limit::{InvalidLimit, LIMITS_PER_RULE_MAX, Limit, span_ms};
use crate::names::{self, InvalidField};

/// The most conditions of a rule.
pub const CONDITIONS_MAX: usize = 16;
/// The most attributes that form a subject.
pub const COUNT_BY_MAX: usize = 8;
/// The most slots that a rule uses in its life. Overrides use the numbers from this one on.
pub const SLOTS_MAX: u16 = 1 << 15;
/// The most characters of a description.
pub const DESCRIPTION_CHARS_MAX: usize = 1000;

/// A checked rule. Gates hold many, and the rules of many tenants have equal parts, which [`crate::rule_parts`] shares.
#[derive(Debug, Clone)]
pub struct Rule {
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) description: Arc<str>,
    pub(crate) conditions: Arc<[Condition]>,
    pub(crate) count_by: Arc<[Counted]>,
    /// Whether any attribute of `count_by` has a form.
    has_forms: bool,
    pub(crate) limits: Arc<Limits>,
    block_ms: Option<u64>,
    action: Action,
    mode: Mode,
    on_store_failure: OnStoreFailure,
    consistency: Consistency,
    over: Over,
}

/// The limits of a rule, as written and checked.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Limits {
    drafts: Box<[LimitDraft]>,
    checked: Box<[Limit]>,
}

/// The slots of a rule's limits, and the next slot that was never used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Slots {
    /// One slot for each limit, in order.
    pub taken: Vec<u16>,
    /// The first slot that no limit of this rule ever had.
    pub next: u16,
}

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
        let limits = parse_limits(&draft.limits, "limits", &mut wrong);
        match draft.consistency {
            Consistency::Exact => {}
            Consistency::Leased => leasable(&limits, &mut wrong),
            Consistency::Approximate => wrong.extend(approximation::refusal(&draft, &limits)),
        }
        if wrong.is_empty() { Ok(Self::new(draft, conditions, limits)) } else { Err(wrong) }
    }

    fn new(draft: RuleDraft, conditions: Vec<Condition>, checked: Vec<Limit>) -> Self {
        let limits = Limits { drafts: draft.limits.into(), checked: checked.into() };
        Self {
            namespace: draft.namespace.into(),
            name: draft.name.into(),
            description: draft.description.into(),
            conditions: conditions.into(),
            has_forms: draft.count_by.iter().any(|counted| counted.form != Form::Plain),
            count_by: draft.count_by.into(),
            limits: limits.into(),
            block_ms: draft.block_ms,
            action: draft.action,
            mode: draft.mode,
            on_store_failure: draft.on_store_failure,
            consistency: draft.consistency,
            over: draft.over,
        }
    }

    /// The rule as written.
    pub fn draft(&self) -> RuleDraft {
        let conditions = self.conditions.iter().map(|condition| condition.draft().clone());
        RuleDraft {
            namespace: self.namespace.to_string(),
            name: self.name.to_string(),
            description: self.description.to_string(),
            conditions: conditions.collect(),
            count_by: self.count_by.to_vec(),
            action: self.action,
            mode: self.mode,
            limits: self.limits.drafts.to_vec(),
            block_ms: self.block_ms,
            on_store_failure: self.on_store_failure,
            consistency: self.consistency,
            over: self.over,
        }
    }

    /// The conditions, all of which must hold.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// The position of a condition that does not hold, if there is one. Regular expressions are tried last, because they
    /// cost most.
    #[inline]
    pub fn first_unmet(&self, holds: impl Fn(&Condition) -> bool) -> Option<usize> {
        let is_pattern = |condition: &Condition| condition.draft().op == Op::Regex;
        [false, true].into_iter().find_map(|patterns| {
            let conditions = self.conditions.iter();
            conditions
                .enumerate()
                .find(|(_, condition)| is_pattern(condition) == patterns && !holds(condition))
                .map(|(at, _)| at)
        })
    }

    /// The limits.
    pub fn limits(&self) -> &[Limit] {
        &self.limits.checked
    }

    /// The name, unique in its namespace.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Whether Redis decides each check, or gates decide with leased units, exactly or within a bound.
    pub fn consistency(&self) -> Consistency {
        self.consistency
    }

    /// The answer to a check that costs more than is left.
    pub fn over(&self) -> Over {
        self.over
    }

    /// The mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The action on matching requests.
    pub fn action(&self) -> Action {
        self.action
    }

    /// The answer while Redis is not available.
    pub fn on_store_failure(&self) -> OnStoreFailure {
        self.on_store_failure
    }

    /// The attributes that form the subject.
    pub fn count_by(&self) -> &[Counted] {
        &self.count_by
    }

    /// Whether the rule counts by an attribute.
    pub fn counts_by(&self, attribute: &str) -> bool {
        self.count_by.iter().any(|counted| counted.attribute == attribute)
    }

    /// The reason to refuse an attribute that the rule does not count by.
    pub fn not_counted_by(&self) -> String {
        let names: Vec<_> = self.count_by.iter().map(AsRef::as_ref).collect();
        format!("is not counted by; the rule counts by [{}]", names.join(", "))
    }

    /// The values of a subject, in the order and the forms of `count_by`; the name of an attribute that is missing.
    #[inline]
    pub fn subject_values<'a>(
        &self,
        value: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Vec<Cow<'a, str>>, &str> {
        let mut values = Vec::with_capacity(self.count_by.len());
        for counted in &*self.count_by {
            let value = value(&counted.attribute).ok_or(counted.attribute.as_str())?;
            values.push(counted.form_of(value));
        }
        Ok(values)
    }

    /// The attributes of `count_by` that have a value, in their forms.
    pub fn counted_values<'a>(
        &'a self,
        value: impl Fn(&str) -> Option<&'a str>,
    ) -> impl Iterator<Item = (&'a str, Cow<'a, str>)> {
        self.count_by.iter().filter_map(move |counted| {
            Some((counted.attribute.as_str(), counted.form_of(value(&counted.attribute)?)))
        })
    }

    /// Whether a condition holds for a value of its attribute. A comparison with whole values compares the forms in which the
    /// rule counts.
    #[inline]
    pub fn holds(&self, condition: &Condition, value: Option<&str>) -> bool {
        match value {
            Some(value) if self.has_forms => {
                let form = compared_form(&self.count_by, condition.draft());
                condition.holds(Some(&form.of(value)))
            }
            _ => condition.holds(value),
        }
    }

    /// Whether a condition compares values as they are sent.
    pub(crate) fn compares_plain(&self, condition: &Condition) -> bool {
        compared_form(&self.count_by, condition.draft()) == Form::Plain
    }

    /// The time for which a subject is blocked after a denial, in milliseconds.
    pub fn block_ms(&self) -> Option<u64> {
        self.block_ms
    }

    /// Sets the slots of the limits, as stored with the rule.
    #[must_use]
    pub fn with_slots(mut self, slots: &[u16]) -> Self {
        let has_them = self.limits().iter().map(|limit| &limit.slot).eq(slots);
        if !has_them {
            let limits = Arc::make_mut(&mut self.limits);
            for (limit, slot) in limits.checked.iter_mut().zip(slots) {
                limit.slot = *slot;
            }
        }
        self
    }

    /// The slots of a rule that is written for the first time.
    pub fn first_slots(&self) -> Slots {
        let taken: Vec<u16> = (0..).take(self.limits().len()).collect();
        Slots { next: u16::try_from(taken.len()).unwrap_or(u16::MAX), taken }
    }

    /// The slots after an edit: see [`carry_slots`]. An error when the rule has used up all its slots.
    pub fn slots_after(&self, before: &Self, slots: &Slots) -> Result<Slots, InvalidField> {
        let before = before.clone().with_slots(&slots.taken);
        let carried = carry_slots(before.limits(), self.limits(), slots.next);
        if carried.next > SLOTS_MAX {
            let reason =
                format!("this rule has had {SLOTS_MAX} limits, which is the most; make a new rule");
            return Err(InvalidField::new("limits", reason));
        }
        Ok(carried)
    }

    /// The number of limits that apply to every request of the namespace because of this rule: 0 if the rule has
    /// conditions or is off.
    pub fn unconditional_limits(&self) -> usize {
        let always = self.conditions.is_empty() && self.mode() != Mode::Off;
        if always { self.limits().len() } else { 0 }
    }
}

/// The slots for `after` that retain counters: a limit takes the slot of the first unclaimed limit of the same algorithm and
/// window or period, else of the first of the same algorithm, else a new one.
pub fn carry_slots(before: &[Limit], after: &[Limit], next: u16) -> Slots {
    let mut unclaimed: Vec<&Limit> = before.iter().collect();
    let mut taken: Vec<Option<u16>> = vec![None; after.len()];
    for any_window in [false, true] {
        let same = |a: &Algorithm, b: &Algorithm| {
            a.name() == b.name() && (any_window || a.usual_window_ms() == b.usual_window_ms())
        };
        for (limit, slot) in after.iter().zip(&mut taken).filter(|(_, slot)| slot.is_none()) {
            let found = unclaimed.iter().position(|old| same(&old.algorithm, &limit.algorithm));
            *slot = found.map(|at| unclaimed.remove(at).slot);
        }
    }
    let mut next = next;
    let taken = taken.into_iter().map(|slot| {
        slot.unwrap_or_else(|| {
            let slot = next;
            next = next.saturating_add(1);
            slot
        })
    });
    Slots { taken: taken.collect(), next }
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
        (Action::Limit, 0) => Err("must hold at least one limit when the action is `limit`".into()),
        (Action::Limit, count) => at_most(count, LIMITS_PER_RULE_MAX, "limits"),
        (Action::Allow | Action::Deny, 0) => Ok(()),
        (action, _) => Err(format!("must be empty when the action is `{}`", action.as_str())),
    }
}

fn block_fits(draft: &RuleDraft) -> Result<(), String> {
    match draft.block_ms {
        None => Ok(()),
        Some(_) if draft.action != Action::Limit => {
            Err("must be null unless the action is `limit`".to_owned())
        }
        Some(block_ms) => span_ms("block_ms", block_ms).map(drop).map_err(|invalid| invalid.reason),
    }
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
fn compared_form(count_by: &[Counted], condition: &ConditionDraft) -> Form {
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

#[cfg(test)]
mod tests;
