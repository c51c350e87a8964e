//! Charges: the limits that apply to a request, and their counters.

use std::sync::Arc;

use crate::algorithm::LeaseId;
use crate::algorithm::{Meter, PeriodBounds, Quota};
use crate::charged::Charged;
use crate::counter::{CounterName, CounterPart};
use crate::draft::{Mode, Over};
use crate::id::TenantId;
use crate::limit::Limit;
use crate::request::Operation;
use crate::rulebook::ActiveRule;
use crate::spread::SpreadKey;
use crate::subject::SubjectKey;

/// A rule that applies to a request.
#[derive(Debug, Clone)]
pub struct RuleCharge {
    /// The rule.
    pub active: Arc<ActiveRule>,
    /// The subject whose counters are charged.
    pub subject: SubjectKey,
    /// The values by which the counters are spread.
    pub spread: SpreadKey,
    /// The limits of an override, which replace the rule's.
    pub override_limits: Option<Arc<[Limit]>>,
    /// The cost, if it differs from that of the check. A rule of cost 0 passes if a unit is left, and takes none.
    pub own_cost: Option<u64>,
}

/// A check ready to be decided: operation, cost, meters and names of counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The operation.
    pub operation: Operation,
    /// The units to take.
    pub cost: u64,
    /// The rules that apply.
    pub rules: Vec<RuleMeters>,
    /// The id of the leases that it takes of concurrency limits. Without one, nobody can renew or release them.
    pub lease_id: Option<LeaseId>,
    /// The charge that a refund names.
    pub charged: Option<Charged>,
}

/// The meters of one rule in a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleMeters {
    /// The group with which the rule is judged.
    pub group: Group,
    /// The answer to a check that costs more than is left.
    pub over: Over,
    /// The counter that blocks the subject, and the length of a block in milliseconds.
    pub block: Option<(CounterName, u64)>,
    /// The limits, with the names of their counters.
    pub limits: Vec<(CounterName, Meter)>,
    /// The cost, if it differs from that of the check. A rule of cost 0 passes if a unit is left, and takes none.
    pub own_cost: Option<u64>,
}

/// Rules that are charged together or not charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// All enforced rules of the check.
    Enforced,
    /// A shadow rule: a group of its own.
    Alone,
}

impl RuleCharge {
    /// The limits in effect.
    pub fn limits(&self) -> &[Limit] {
        self.override_limits.as_deref().unwrap_or_else(|| self.active.rule.limits())
    }

    /// Whether the charge uses these limits of an override. `None` means the rule's own limits.
    pub fn uses_override(&self, override_limits: Option<&Arc<[Limit]>>) -> bool {
        match (override_limits, &self.override_limits) {
            (None, None) => true,
            (Some(limits), Some(own)) => Arc::ptr_eq(limits, own),
            _ => false,
        }
    }

    /// Whether it gives leases.
    pub fn has_concurrency(&self) -> bool {
        self.limits().iter().any(|limit| limit.algorithm.lease_ms().is_some())
    }

    /// Whether the rule is in shadow mode.
    pub fn shadow(&self) -> bool {
        self.active.rule.mode() == Mode::Shadow
    }

    /// The meters for a tenant; `bounds` resolves the calendar of a quota.
    pub fn meters(
        &self,
        tenant: TenantId,
        mut bounds: impl FnMut(&Quota) -> PeriodBounds,
    ) -> RuleMeters {
        let name = |part| CounterName { tenant, rule: self.active.id, part, subject: self.subject };
        RuleMeters {
            group: if self.shadow() { Group::Alone } else { Group::Enforced },
            over: self.active.rule.over(),
            block: self.active.rule.block_ms().map(|ms| (name(CounterPart::Block), ms)),
            limits: self
                .limits()
                .iter()
                .map(|limit| {
                    (name(CounterPart::Slot(limit.slot)), limit.algorithm.meter(&mut bounds))
                })
                .collect(),
            own_cost: self.own_cost,
        }
    }

    /// The names of all counters that this rule can have for its subject.
    pub fn counters(&self, tenant: TenantId) -> Vec<CounterName> {
        let name = |part| CounterName { tenant, rule: self.active.id, part, subject: self.subject };
        let slots = self.limits().iter().chain(self.active.rule.limits()).map(|limit| limit.slot);
        let mut names: Vec<_> = slots.map(|slot| name(CounterPart::Slot(slot))).collect();
        names.push(name(CounterPart::Block));
        names
    }
}

impl RuleMeters {
    /// The units that a check of this cost takes.
    pub fn taken(&self, cost: u64) -> u64 {
        self.own_cost.unwrap_or(cost)
    }

    /// The units that a check of this cost needs to pass.
    pub fn needed(&self, cost: u64) -> u64 {
        match (self.own_cost, self.over) {
            (Some(0), _) => 1,
            (_, Over::Deny) => self.taken(cost),
            (_, Over::Debt) => self.taken(cost).min(1),
        }
    }
}

impl Check {
    /// The names of the counters of all limits.
    pub fn names(&self) -> Vec<CounterName> {
        self.rules.iter().flat_map(|rule| rule.limits.iter().map(|(name, _)| *name)).collect()
    }

    /// Whether one of its limits gives leases.
    pub fn has_concurrency(&self) -> bool {
        let mut meters = self.rules.iter().flat_map(|rule| &rule.limits);
        meters.any(|(_, meter)| matches!(meter, Meter::Concurrency(_)))
    }

    /// The number of decisions about the check.
    pub fn limit_count(&self) -> usize {
        self.rules.iter().map(|rule| rule.limits.len()).sum()
    }
}
