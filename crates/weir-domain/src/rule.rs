//! Rules, in their checked form.

mod controls;
mod parse;
mod priority;
mod schedule;
mod segment;
mod segments;
mod slots;
mod variants;

use std::borrow::Cow;
use std::sync::Arc;

pub use self::controls::Blocks;
use self::controls::{Controls, Part};
pub use self::parse::{CONDITIONS_MAX, COUNT_BY_MAX, DESCRIPTION_CHARS_MAX};
use self::parse::{
    at_most, block_fits, compared_form, conditions, contradictions, count_by, leasable, limits_fit,
    over_fits,
};
pub use self::priority::{CLASSES_MAX, keep_units};
pub use self::schedule::{WEEKLY_MAX, week_spans};
pub use self::segment::Segment;
pub use self::slots::{SLOTS_MAX, Slots, carry_slots};
pub use self::variants::{VARIANTS_MAX, VARIANTS_MIN};
use crate::approximation;
use crate::condition::Condition;
use crate::counted::{Counted, Form};
use crate::draft::{
    Action, Consistency, LimitDraft, Mode, OnStoreFailure, Op, Operand, Over, Reach, RuleDraft,
};
use crate::id::RuleId;
pub use crate::limit::BLOCKS_MAX;
use crate::limit::{Limit, parse_limits};
use crate::names::{self, InvalidField};
use crate::subject::SubjectKey;
use crate::time::Timestamp;

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
    reach: Reach,
    over: Over,
    controls: Option<Arc<Controls>>,
}

/// The limits of a rule, as written and checked.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Limits {
    drafts: Box<[LimitDraft]>,
    checked: Box<[Limit]>,
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

    fn new(
        draft: RuleDraft,
        conditions: Vec<Condition>,
        checked: Vec<Limit>,
        controls: Option<Arc<Controls>>,
    ) -> Self {
        let limits = Limits { drafts: draft.limits.into(), checked: checked.into() };
        Self {
            namespace: draft.namespace.into(),
            name: draft.name.into(),
            description: draft.description.into(),
            conditions: conditions.into(),
            has_forms: draft.count_by.iter().any(|counted| counted.form != Form::Plain),
            count_by: draft.count_by.into(),
            limits: limits.into(),
            block_ms: draft.block_ms.first().copied(),
            action: draft.action,
            mode: draft.mode,
            on_store_failure: draft.on_store_failure,
            consistency: draft.consistency,
            reach: draft.reach,
            over: draft.over,
            controls,
        }
    }

    /// The rule as written.
    pub fn draft(&self) -> RuleDraft {
        let conditions = self.conditions.iter().map(|condition| condition.draft().clone());
        let none = Controls::default();
        let controls = self.controls.as_deref().unwrap_or(&none);
        let blocks = controls.blocks.as_deref();
        RuleDraft {
            namespace: self.namespace.to_string(),
            name: self.name.to_string(),
            description: self.description.to_string(),
            conditions: conditions.collect(),
            count_by: self.count_by.to_vec(),
            action: self.action,
            mode: self.mode,
            limits: self.limits.drafts.to_vec(),
            block_ms: blocks.map_or(self.block_ms.as_slice(), |blocks| &blocks.lengths_ms).to_vec(),
            block_memory_ms: blocks.map(|blocks| blocks.memory_ms),
            on_store_failure: self.on_store_failure,
            consistency: self.consistency,
            reach: self.reach,
            over: self.over,
            priority: controls.priority.as_ref().map(|priority| priority.draft().clone()),
            enforce_percent: controls.enforce_percent,
            variants: controls.variants.iter().map(|variant| variant.draft().clone()).collect(),
            active: controls.schedule.as_ref().map(|schedule| schedule.draft().clone()),
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

    /// The text for people.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Whether Redis decides each check, or gates decide with leased units, exactly or within a bound.
    pub fn consistency(&self) -> Consistency {
        self.consistency
    }

    /// The regions that share the counters.
    #[inline]
    pub fn reach(&self) -> Reach {
        self.reach
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

    /// The time for which a subject is blocked after its first denial, in milliseconds.
    pub fn block_ms(&self) -> Option<u64> {
        self.block_ms
    }

    /// The lengths of blocks that follow one another, if they differ.
    pub fn blocks(&self) -> Option<&Arc<Blocks>> {
        self.controls.as_deref()?.blocks.as_ref()
    }

    /// Whether the rule applies at this time.
    #[inline]
    pub fn is_active(&self, now: Timestamp) -> bool {
        let schedule = self.controls.as_deref().and_then(|controls| controls.schedule.as_ref());
        schedule.is_none_or(|schedule| schedule.is_active(now))
    }

    /// The share of each limit that a check must leave free, in thousandths, by the value of an attribute.
    #[inline]
    pub fn keep_share<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> u16 {
        let priority = self.controls.as_deref().and_then(|controls| controls.priority.as_ref());
        priority.map_or(0, |priority| priority.share(value))
    }

    /// The part that the rule of this id plays for a subject.
    #[inline]
    pub(crate) fn part(&self, id: RuleId, subject: impl FnOnce() -> SubjectKey) -> Part<'_> {
        match self.controls.as_deref() {
            None => Part { mode: self.mode, variant: None },
            Some(controls) => controls.part(self.mode, id, subject),
        }
    }

    /// The names of the variants; empty if the rule has none.
    pub fn variants(&self) -> impl ExactSizeIterator<Item = &str> {
        let variants = self.controls.as_deref().map_or(&[][..], |controls| &controls.variants);
        variants.iter().map(|variant| variant.draft().name.as_str())
    }

    /// The limits of a variant, by its position.
    pub fn variant_limits(&self, at: usize) -> Option<&Arc<[Limit]>> {
        Some(&self.controls.as_deref()?.variants.get(at)?.limits)
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
            if let Some(controls) = self.controls.as_mut().filter(|own| !own.variants.is_empty()) {
                let controls = Arc::make_mut(controls);
                let variants = controls.variants.iter().map(|variant| variant.with_slots(slots));
                controls.variants = variants.collect();
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

#[cfg(test)]
mod tests;
