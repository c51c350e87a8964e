//! Charges: which limits of which rules a request meets, and whose counters they are.

use std::sync::Arc;

use crate::algorithm::{Meter, PeriodBounds, Quota};
use crate::counter::{CounterName, CounterPart};
use crate::draft::Mode;
use crate::id::TenantId;
use crate::limit::Limit;
use crate::request::Operation;
use crate::rulebook::ActiveRule;
use crate::subject::SubjectKey;

/// One rule met by one request.
#[derive(Debug, Clone)]
pub struct RuleCharge {
    /// The rule.
    pub active: Arc<ActiveRule>,
    /// Whom it counts.
    pub subject: SubjectKey,
    /// Limits of an override that hold instead of the rule's.
    pub override_limits: Option<Arc<[Limit]>>,
}

/// A check ready to be decided: acts, costs and meters, names of counters; nothing about people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What is to be done.
    pub operation: Operation,
    /// How much to take.
    pub cost: u64,
    /// The rules met.
    pub rules: Vec<RuleMeters>,
}

/// The meters of one rule in a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleMeters {
    /// With whom it is judged.
    pub group: Group,
    /// The counter that blocks its subject, and for how many milliseconds.
    pub block: Option<(CounterName, u64)>,
    /// Its limits.
    pub limits: Vec<(CounterName, Meter)>,
}

/// Rules that are charged together or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// All enforced rules of the check.
    Enforced,
    /// A shadow rule: a group of its own.
    Alone,
}

impl RuleCharge {
    /// The limits that hold.
    pub fn limits(&self) -> &[Limit] {
        self.override_limits.as_deref().unwrap_or_else(|| self.active.rule.limits())
    }

    /// Whether these limits, of the same override, hold instead of the rule's; `None`: the rule's own hold.
    pub fn uses_override(&self, override_limits: Option<&Arc<[Limit]>>) -> bool {
        match (override_limits, &self.override_limits) {
            (None, None) => true,
            (Some(theirs), Some(own)) => Arc::ptr_eq(theirs, own),
            _ => false,
        }
    }

    /// Whether the rule only watches.
    pub fn shadow(&self) -> bool {
        self.active.rule.mode() == Mode::Shadow
    }

    /// Its meters for a tenant; `bounds` resolves the calendar of a quota.
    pub fn meters(
        &self,
        tenant: TenantId,
        mut bounds: impl FnMut(&Quota) -> PeriodBounds,
    ) -> RuleMeters {
        let name = |part| CounterName { tenant, rule: self.active.id, part, subject: self.subject };
        RuleMeters {
            group: if self.shadow() { Group::Alone } else { Group::Enforced },
            block: self.active.rule.block_ms().map(|ms| (name(CounterPart::Block), ms)),
            limits: self
                .limits()
                .iter()
                .map(|it| (name(CounterPart::Slot(it.slot)), it.algorithm.meter(&mut bounds)))
                .collect(),
        }
    }

    /// The names of all counters this rule may have for its subject.
    pub fn counters(&self, tenant: TenantId) -> Vec<CounterName> {
        let name = |part| CounterName { tenant, rule: self.active.id, part, subject: self.subject };
        let slots = self.limits().iter().chain(self.active.rule.limits()).map(|it| it.slot);
        let mut names: Vec<_> = slots.map(|slot| name(CounterPart::Slot(slot))).collect();
        names.push(name(CounterPart::Block));
        names
    }
}

impl Check {
    /// How many decisions it will have.
    pub fn limit_count(&self) -> usize {
        self.rules.iter().map(|rule| rule.limits.len()).sum()
    }
}
