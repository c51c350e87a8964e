//! Charges: the limits that apply to a request, and their counters.

use std::sync::Arc;

use crate::algorithm::LeaseId;
use crate::algorithm::{Algorithm, Counter, Meter, PeriodBounds, Quota};
use crate::charged::Charged;
use crate::counter::{CounterName, CounterPart};
use crate::draft::{Mode, Over};
use crate::id::TenantId;
use crate::limit::Limit;
use crate::request::Operation;
use crate::rule::{Blocks, Rule, keep_units};
use crate::rulebook::ActiveRule;
use crate::spread::SpreadKey;
use crate::subject::SubjectKey;
use crate::time::Micros;

/// A rule that applies to a request.
#[derive(Debug, Clone)]
pub struct RuleCharge {
    /// The rule.
    pub active: Arc<ActiveRule>,
    /// The subject whose counters are charged.
    pub subject: SubjectKey,
    /// The values by which the counters are spread.
    pub spread: SpreadKey,
    /// The limits of an override or a variant, which replace the rule's.
    pub override_limits: Option<Arc<[Limit]>>,
    /// The mode in which the rule decides for the subject.
    pub mode: Mode,
    /// The position of the variant whose limits are `override_limits`.
    pub variant: Option<u8>,
    /// The share of each limit that the check must leave free, in thousandths.
    pub keep_share: u16,
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
    /// The counter that blocks the subject.
    pub block: Option<BlockMeter>,
    /// The limits, with the names of their counters.
    pub limits: Vec<(CounterName, Meter)>,
    /// The cost, if it differs from that of the check. A rule of cost 0 passes if a unit is left, and takes none.
    pub own_cost: Option<u64>,
}

/// The blocks of a subject by one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockMeter {
    /// The name of its counter.
    pub name: CounterName,
    /// The length of the first block in milliseconds.
    pub first_ms: u64,
    /// The lengths of blocks that follow one another, if they differ.
    pub blocks: Option<Arc<Blocks>>,
}

/// Rules that are charged together or not charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// All enforced rules of the check.
    Enforced,
    /// A rule that does not affect whether the check is allowed: a group of its own.
    Alone,
}

impl RuleCharge {
    /// The charge of a subject to which no override applies.
    pub fn new(active: Arc<ActiveRule>, subject: SubjectKey, spread: SpreadKey) -> Self {
        let part = active.rule.part(active.id, || subject);
        let (mode, variant) = (part.mode, part.variant.map(|(at, _)| at));
        let override_limits = part.variant.map(|(_, limits)| Arc::clone(limits));
        Self {
            active,
            subject,
            spread,
            override_limits,
            mode,
            variant,
            keep_share: 0,
            own_cost: None,
        }
    }

    /// The same with the limits of an override, which precede those of a variant.
    #[must_use]
    pub fn with_override(self, limits: &Arc<[Limit]>) -> Self {
        Self { override_limits: Some(Arc::clone(limits)), variant: None, ..self }
    }

    /// The limits in effect.
    pub fn limits(&self) -> &[Limit] {
        self.override_limits.as_deref().unwrap_or_else(|| self.active.rule.limits())
    }

    /// The meter of one of its limits, for this check; `bounds` resolves the calendar of a quota.
    pub fn meter(
        &self,
        algorithm: &Algorithm,
        bounds: impl FnMut(&Quota) -> PeriodBounds,
    ) -> Meter {
        let meter = algorithm.meter(bounds);
        match self.keep_share {
            0 => meter,
            share => meter.keeping(keep_units(share, algorithm.limit())),
        }
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

    /// The name of the variant whose limits apply.
    pub fn variant_name(&self) -> Option<&str> {
        self.active.rule.variants().nth(self.variant?.into())
    }

    /// Whether the rule decides alone, and does not affect whether the check is allowed.
    pub fn is_alone(&self) -> bool {
        self.mode != Mode::Enforce
    }

    /// The meters for a tenant; `bounds` resolves the calendar of a quota.
    pub fn meters(
        &self,
        tenant: TenantId,
        mut bounds: impl FnMut(&Quota) -> PeriodBounds,
    ) -> RuleMeters {
        let name = |part| CounterName { tenant, rule: self.active.id, part, subject: self.subject };
        RuleMeters {
            group: if self.is_alone() { Group::Alone } else { Group::Enforced },
            over: self.active.rule.over(),
            block: BlockMeter::of(&self.active.rule, || name(CounterPart::Block)),
            limits: self
                .limits()
                .iter()
                .map(|limit| {
                    let meter = self.meter(&limit.algorithm, &mut bounds);
                    (name(CounterPart::Slot(limit.slot)), meter)
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

impl BlockMeter {
    /// The meter of a rule that blocks.
    pub fn of(rule: &Rule, name: impl FnOnce() -> CounterName) -> Option<Self> {
        let first_ms = rule.block_ms()?;
        Some(Self { name: name(), first_ms, blocks: rule.blocks().cloned() })
    }

    /// The length of the n-th block within the memory, counted from 1, in milliseconds.
    pub fn length_ms(&self, number: u64) -> u64 {
        self.blocks.as_deref().map_or(self.first_ms, |blocks| blocks.length_ms(number))
    }

    /// The number of the block of a counter, or of one that would start now after it. 0 if all blocks have one length.
    pub fn number(&self, counter: &Counter, now: Micros) -> u64 {
        let Some(blocks) = self.blocks.as_deref() else { return 0 };
        match counter {
            Counter::BlockedUntil { until_us, number }
                if now.0 < until_us + blocks.memory_ms * 1000 =>
            {
                number.max(&1) + u64::from(*until_us <= now.0)
            }
            _ => 1,
        }
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
