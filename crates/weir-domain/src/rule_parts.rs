//! Shares equal parts of rules. The rules of many tenants differ in little, and a gate holds all of them.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use crate::condition::Condition;
use crate::counted::Counted;
use crate::rule::{Limits, Rule};
use crate::sample::SamplePlan;

/// The parts of the rules in force, each once.
#[derive(Debug, Default)]
pub struct RuleParts {
    texts: Pool<str>,
    count_by: Pool<[Counted]>,
    conditions: Pool<[Condition]>,
    limits: Pool<Limits>,
    samples: Pool<SamplePlan>,
}

impl RuleParts {
    /// Replaces the parts of a rule by equal parts of other rules.
    pub fn share(&self, rule: &mut Rule) {
        self.texts.share(&mut rule.namespace);
        self.texts.share(&mut rule.name);
        self.texts.share(&mut rule.description);
        self.count_by.share(&mut rule.count_by);
        self.conditions.share(&mut rule.conditions);
        self.limits.share(&mut rule.limits);
    }

    pub(crate) fn share_sample(&self, sample: &mut Arc<SamplePlan>) {
        self.samples.share(sample);
    }
}

/// Parts of one type. Parts that no rule uses any more are dropped whenever the pool has doubled.
#[derive(Debug)]
struct Pool<T: ?Sized>(Mutex<Parts<T>>);

#[derive(Debug)]
struct Parts<T: ?Sized> {
    all: HashSet<Arc<T>>,
    sweep_at: usize,
}

/// The size of a pool that is swept first.
const SWEEP_AT_MIN: usize = 1_024;

impl<T: ?Sized> Default for Pool<T> {
    fn default() -> Self {
        Self(Mutex::new(Parts { all: HashSet::new(), sweep_at: SWEEP_AT_MIN }))
    }
}

impl<T: ?Sized + Hash + Eq> Pool<T> {
    /// Replaces a part by an equal one of the pool, or adds it.
    fn share(&self, part: &mut Arc<T>) {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = parts.all.get(&**part) {
            *part = Arc::clone(known);
            return;
        }
        if parts.all.len() >= parts.sweep_at {
            parts.all.retain(|part| Arc::strong_count(part) > 1);
            parts.all.shrink_to(SWEEP_AT_MIN);
            parts.sweep_at = (2 * parts.all.len()).max(SWEEP_AT_MIN);
        }
        parts.all.insert(Arc::clone(part));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::{ConditionDraft, LimitDraft, OnStoreFailure, Op, Operand, RuleDraft};

    fn rule(name: &str, limit: u64, route: &str) -> Rule {
        let value = Some(Operand::One(route.to_owned()));
        Rule::parse(RuleDraft {
            name: name.into(),
            conditions: vec![ConditionDraft { attribute: "route".into(), op: Op::Equals, value }],
            count_by: vec!["user".into()],
            limits: vec![LimitDraft::FixedWindow { limit, window_ms: 1_000 }],
            on_store_failure: OnStoreFailure::Deny,
            ..RuleDraft::default()
        })
        .expect("a valid rule")
    }

    #[test]
    fn equal_parts_are_one_and_different_parts_stay_apart() {
        let parts = RuleParts::default();
        let mut rules = [rule("a", 5, "/x"), rule("a", 5, "/x"), rule("a", 6, "/y")];
        let drafts = rules.clone().map(|rule| rule.draft());
        for rule in &mut rules {
            parts.share(rule);
        }
        assert_eq!(rules.clone().map(|rule| rule.draft()), drafts);
        let [first, equal, other] = rules;
        assert!(Arc::ptr_eq(&first.limits, &equal.limits));
        assert!(Arc::ptr_eq(&first.conditions, &equal.conditions));
        assert!(Arc::ptr_eq(&first.name, &other.name));
        assert!(Arc::ptr_eq(&first.count_by, &other.count_by));
        assert!(!Arc::ptr_eq(&first.limits, &other.limits));
        assert!(!Arc::ptr_eq(&first.conditions, &other.conditions));
        // Slots belong to the limits of one rule.
        assert_eq!(first.clone().with_slots(&[7]).limits()[0].slot, 7);
        assert_eq!(equal.limits()[0].slot, 0);
    }

    #[test]
    fn parts_that_no_rule_uses_are_dropped() {
        let parts = RuleParts::default();
        let mut remains = rule("remains", 1, "/remains");
        parts.share(&mut remains);
        for limit in 2..10_000 {
            parts.share(&mut rule("gone", limit, "/gone"));
        }
        let limits = parts.limits.0.lock().unwrap();
        assert!(limits.all.len() <= SWEEP_AT_MIN, "{}", limits.all.len());
        assert!(limits.all.contains(&remains.limits));
    }
}
