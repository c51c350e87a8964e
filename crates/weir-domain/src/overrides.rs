//! Overrides: other limits, or none, for one subject of a rule between two times. And plans: the same for all subjects of the
//! customers that are on them.
//!
//! A subject is named by the rule's `count_by` attributes; `*` as a value stands for any. The most
//! exact one wins: fewest stars, then the star that stands latest in `count_by`. A plan applies where no override does.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::counted::Counted;
use crate::customers::{Customers, PlanRef};
use crate::draft::LimitDraft;
use crate::id::OverrideId;
use crate::limit::{LIMITS_PER_RULE_MAX, Limit, parse_limits};
use crate::names::{self, InvalidField};
use crate::rule::{Rule, SLOTS_MAX, carry_slots};
use crate::subject::{SubjectHasher, SubjectKey};
use crate::time::Timestamp;

/// First slot of an override's limits that the rule has no counter for. Each algorithm has its own
/// range, so that a slot never changes its kind of counter.
const OWN_SLOTS_FROM: u16 = SLOTS_MAX;

/// An override as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverrideDraft {
    /// A value, or `*`, for each attribute that the rule counts by.
    pub subject: BTreeMap<String, String>,
    /// The effect, in place of the rule's limits.
    pub effect: EffectDraft,
    /// The time from which the override has an effect. `None`: at once.
    pub starts_at: Option<Timestamp>,
}

/// The effect of an override as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EffectDraft {
    /// These limits replace the rule's.
    Limits(Vec<LimitDraft>),
    /// The rule does not limit this subject.
    Allow,
    /// The rule refuses this subject.
    Deny,
}

/// A checked override of one rule.
#[derive(Debug, Clone)]
pub struct Override {
    subject: Vec<Option<String>>,
    effect: Effect,
    starts_at: Option<Timestamp>,
}

/// The effect of an override.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// These limits replace the rule's; slots are the rule's where the algorithm is the same.
    Limits(Arc<[Limit]>),
    /// The rule does not limit this subject.
    Allow,
    /// The rule refuses this subject.
    Deny,
}

/// All overrides of one rule, found by hash, and the plans that name the rule. Most rules have none.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    table: Option<Arc<Table>>,
    plans: Option<Arc<RulePlans>>,
}

#[derive(Debug, Clone, Default)]
struct Table {
    /// The sets of positions in `count_by` that are stars, most exact first.
    masks: Vec<u8>,
    by_subject: HashMap<SubjectKey, Active>,
}

/// The effects of all plans that name one rule.
#[derive(Debug, Clone)]
struct RulePlans {
    customers: Arc<Customers>,
    /// The position of the customer attribute in `count_by`.
    position: usize,
    effects: Arc<[Active]>,
}

/// The object that replaces the limits of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// An override.
    Override(OverrideId),
    /// A revision of a plan.
    Plan(PlanRef),
}

/// An override with its dates, or the effect of a plan on a rule.
#[derive(Debug, Clone)]
pub struct Active {
    /// The override or the plan.
    pub source: Source,
    /// The effect.
    pub effect: Effect,
    /// The time from which the override has an effect.
    pub starts_at: Option<Timestamp>,
    /// The time from which the override has no effect.
    pub expires_at: Option<Timestamp>,
}

impl Override {
    /// Checks a draft against the rule it overrides.
    pub fn parse(draft: OverrideDraft, rule: &Rule) -> Result<Self, Vec<InvalidField>> {
        let mut wrong = Vec::new();
        let subject = subject(&draft.subject, rule, &mut wrong);
        let effect = Effect::parse(draft.effect, rule, &mut wrong);
        let starts_at = draft.starts_at;
        if wrong.is_empty() { Ok(Self { subject, effect, starts_at }) } else { Err(wrong) }
    }

    /// The digest of its subject, stars included: at most one override of a rule has it.
    pub fn subject_key(&self, rule: &Rule) -> SubjectKey {
        let mut hasher = SubjectHasher::default();
        for (attribute, value) in rule.count_by().iter().zip(&self.subject) {
            match value {
                Some(value) => hasher.value(attribute.as_ref(), value),
                None => hasher.any(attribute.as_ref()),
            }
        }
        hasher.finish()
    }

    /// The effect.
    pub fn effect(&self) -> &Effect {
        &self.effect
    }
}

impl Effect {
    /// Checks an effect on a rule, and adds to `wrong` what is not valid.
    pub fn parse(draft: EffectDraft, rule: &Rule, wrong: &mut Vec<InvalidField>) -> Self {
        let drafts = match draft {
            EffectDraft::Allow => return Self::Allow,
            EffectDraft::Deny => return Self::Deny,
            EffectDraft::Limits(drafts) => drafts,
        };
        if drafts.is_empty() || drafts.len() > LIMITS_PER_RULE_MAX {
            let reason = format!("must hold from 1 to {LIMITS_PER_RULE_MAX} limits");
            wrong.push(InvalidField::new("limits", reason));
        }
        let mut limits = parse_limits(&drafts, "limits", wrong);
        let slots = carry_slots(rule.limits(), &limits, OWN_SLOTS_FROM);
        for ((limit, slot), at) in limits.iter_mut().zip(slots.taken).zip(0..) {
            let own = OWN_SLOTS_FROM + limit.algorithm.kind().number() * 16 + at;
            limit.slot = if slot < OWN_SLOTS_FROM { slot } else { own };
        }
        Self::Limits(limits.into())
    }
}

impl Source {
    /// A number by which gates of all regions name it: no two of a tenant have the same.
    fn number(self) -> u128 {
        match self {
            Self::Override(id) => id.to_u128(),
            Self::Plan(plan) => plan.plan.to_u128().wrapping_add(plan.pinned_revision.into()),
        }
    }
}

impl RulePlans {
    fn find(&self, values: &[impl AsRef<str>], now: Timestamp) -> Option<&Active> {
        let plan = self.customers.plan_of(values.get(self.position)?.as_ref(), now)?;
        self.effects.iter().find(|active| active.source == Source::Plan(plan))
    }
}

impl Active {
    /// The effect of a plan on a rule.
    pub const fn of_plan(plan: PlanRef, effect: Effect) -> Self {
        Self { source: Source::Plan(plan), effect, starts_at: None, expires_at: None }
    }

    /// The id of the override, if it is one.
    pub const fn override_id(&self) -> Option<OverrideId> {
        match self.source {
            Source::Override(id) => Some(id),
            Source::Plan(_) => None,
        }
    }

    /// The plan, if it is one.
    pub const fn plan(&self) -> Option<PlanRef> {
        match self.source {
            Source::Override(_) => None,
            Source::Plan(plan) => Some(plan),
        }
    }

    fn has(&self, limits: &Arc<[Limit]>) -> bool {
        matches!(&self.effect, Effect::Limits(own) if Arc::ptr_eq(own, limits))
    }

    fn is_in_force(&self, now: Timestamp) -> bool {
        let begun = self.starts_at.is_none_or(|starts_at| starts_at <= now);
        begun && self.expires_at.is_none_or(|expires_at| now < expires_at)
    }
}

impl Overrides {
    /// Collects the overrides of `rule`.
    pub fn build(
        rule: &Rule,
        all: impl IntoIterator<Item = (OverrideId, Override, Option<Timestamp>)>,
    ) -> Self {
        let mut table = Table::default();
        for (id, found, expires_at) in all {
            let mask = mask_of(&found);
            if !table.masks.contains(&mask) {
                table.masks.push(mask);
            }
            let key = found.subject_key(rule);
            let Override { effect, starts_at, .. } = found;
            let source = Source::Override(id);
            table.by_subject.insert(key, Active { source, effect, starts_at, expires_at });
        }
        table.masks.sort_unstable_by_key(|mask| (mask.count_ones(), *mask));
        Self { table: (!table.masks.is_empty()).then(|| table.into()), plans: None }
    }

    /// The same with the effects of all plans that name `rule`. Without one, or if the rule does not count by the customer
    /// attribute, there are no plans.
    #[must_use]
    pub fn with_plans(self, rule: &Rule, customers: &Arc<Customers>, effects: Vec<Active>) -> Self {
        let is_customer = |counted: &Counted| counted.attribute == customers.attribute();
        let position = rule.count_by().iter().position(is_customer);
        let plans = position.filter(|_| !effects.is_empty()).map(|position| {
            let customers = Arc::clone(customers);
            Arc::new(RulePlans { customers, position, effects: effects.into() })
        });
        Self { plans, ..self }
    }

    /// The same with other assignments of customers. `None` if they are those of now, or no plan names the rule.
    #[must_use]
    pub fn with_customers(&self, customers: &Arc<Customers>) -> Option<Self> {
        let plans = self.plans.as_deref()?;
        let table = self.table.clone();
        (!Arc::ptr_eq(&plans.customers, customers)).then(|| {
            let plans = RulePlans { customers: Arc::clone(customers), ..plans.clone() };
            Self { table, plans: Some(plans.into()) }
        })
    }

    /// The override or plan for the subject with these values, which are in the order of `count_by`.
    pub fn find(&self, rule: &Rule, values: &[impl AsRef<str>], now: Timestamp) -> Option<&Active> {
        self.find_keyed(rule, values, now).map(|(_, active)| active)
    }

    /// The same with the key under which [`Overrides::at`] finds the override again.
    pub fn find_keyed(
        &self,
        rule: &Rule,
        values: &[impl AsRef<str>],
        now: Timestamp,
    ) -> Option<(SubjectKey, &Active)> {
        let found = self.table.as_deref().and_then(|table| table.find(rule, values, now));
        found.or_else(|| {
            let active = self.plans.as_deref()?.find(values, now)?;
            Some((SubjectKey(active.source.number()), active))
        })
    }

    /// The override or plan that is stored under this key.
    pub fn at(&self, key: SubjectKey, now: Timestamp) -> Option<&Active> {
        let found = self.table.as_deref().and_then(|table| table.by_subject.get(&key));
        found.filter(|active| active.is_in_force(now)).or_else(|| {
            let mut effects = self.plans.as_deref()?.effects.iter();
            effects.find(|active| active.source.number() == key.0)
        })
    }

    /// The number of the override or plan of a subject that has these limits.
    pub fn number_of(&self, subject: SubjectKey, limits: &Arc<[Limit]>) -> Option<u128> {
        self.of(subject, |active| active.has(limits)).map(|active| active.source.number())
    }

    /// The limits of an override or plan of a subject.
    pub fn limits_of(&self, subject: SubjectKey, number: u128) -> Option<&Arc<[Limit]>> {
        match &self.of(subject, |active| active.source.number() == number)?.effect {
            Effect::Limits(limits) => Some(limits),
            Effect::Allow | Effect::Deny => None,
        }
    }

    /// The override that is stored under the key of a subject without stars, or else among all overrides and plans, if `is_it`.
    fn of(&self, subject: SubjectKey, is_it: impl Fn(&Active) -> bool) -> Option<&Active> {
        let table = self.table.as_deref();
        let exact = table.and_then(|table| table.by_subject.get(&subject));
        let all = table.into_iter().flat_map(|table| table.by_subject.values());
        let plans = self.plans.as_deref().into_iter().flat_map(|plans| plans.effects.iter());
        exact.into_iter().chain(plans).chain(all).find(|active| is_it(active))
    }
}

impl Table {
    fn find(
        &self,
        rule: &Rule,
        values: &[impl AsRef<str>],
        now: Timestamp,
    ) -> Option<(SubjectKey, &Active)> {
        self.masks.iter().find_map(|mask| {
            let mut hasher = SubjectHasher::default();
            let attributes = rule.count_by().iter().zip(values);
            for ((attribute, value), bit) in attributes.zip(bits()) {
                if mask & bit == 0 {
                    hasher.value(attribute.as_ref(), value.as_ref());
                } else {
                    hasher.any(attribute.as_ref());
                }
            }
            let key = hasher.finish();
            let active = self.by_subject.get(&key)?;
            active.is_in_force(now).then_some((key, active))
        })
    }
}

/// The keys under which an override of a subject can be stored: one for each set of its attributes that a `*` stands
/// for. At most 2^8 of them.
pub fn override_keys(rule: &Rule, values: &[impl AsRef<str>]) -> Vec<SubjectKey> {
    let sets = 1_usize << rule.count_by().len();
    let key = |set: usize| {
        let mut hasher = SubjectHasher::default();
        for (at, (attribute, value)) in rule.count_by().iter().zip(values).enumerate() {
            if set & (1 << at) == 0 {
                hasher.value(attribute.as_ref(), value.as_ref());
            } else {
                hasher.any(attribute.as_ref());
            }
        }
        hasher.finish()
    };
    (0..sets).map(key).collect()
}

fn subject(
    given: &BTreeMap<String, String>,
    rule: &Rule,
    wrong: &mut Vec<InvalidField>,
) -> Vec<Option<String>> {
    for attribute in given.keys().filter(|name| !rule.counts_by(name)) {
        let reason = rule.not_counted_by();
        wrong.push(InvalidField::new(format!("subject.{attribute}"), reason));
    }
    if rule.count_by().is_empty() {
        wrong.push(InvalidField::new(
            "subject",
            "cannot be named: the rule has one counter for all; edit the rule instead",
        ));
    }
    let value_of = |counted: &Counted| match given.get(&counted.attribute).map(String::as_str) {
        None => Err("must be given: the rule counts by it"),
        Some("*") => Ok(None),
        Some(value) => names::value(value).map(|()| Some(counted.form_of(value).into_owned())),
    };
    let mut values = Vec::with_capacity(rule.count_by().len());
    for counted in rule.count_by() {
        match value_of(counted) {
            Ok(value) => values.push(value),
            Err(reason) => {
                wrong.push(InvalidField::new(format!("subject.{}", counted.attribute), reason));
            }
        }
    }
    values
}

/// The stars of an override; the first attribute is the highest bit, so that, among as many stars,
/// a star further back sorts first.
fn mask_of(found: &Override) -> u8 {
    found
        .subject
        .iter()
        .zip(bits())
        .filter(|(value, _)| value.is_none())
        .fold(0, |mask, (_, bit)| mask | bit)
}

/// A bit for each attribute of `count_by`, which has at most eight.
fn bits() -> impl Iterator<Item = u8> {
    (0..8).map(|at| 0x80_u8 >> at)
}

#[cfg(test)]
mod tests;
