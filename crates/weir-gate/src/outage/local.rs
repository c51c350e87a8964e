//! Decisions by counters in memory while Redis is away, for rules with `on_store_failure: local`.
//!
//! Each gate grants its share: the limit divided by the number of live gates that count the rule, at least one unit. The number of counters is
//! bounded, in all and by tenant. A counter with nothing left is never evicted, so a caller cannot get a fresh one by using
//! other subjects.

use std::sync::atomic::{AtomicU64, Ordering};

use weir_domain::algorithm::Counter;
use weir_domain::calendar;
use weir_domain::charge::{BlockMeter, Check, RuleCharge, RuleMeters};
use weir_domain::counter::CounterName;
use weir_domain::decide::{Counters, Decision, decide};
use weir_domain::draft::Reach;
use weir_domain::id::TenantId;
use weir_domain::request::Operation;
use weir_domain::time::{Clock, Micros};
use weir_store::LiveGates;

use crate::memory::sharded::Sharded;
use crate::memory::tenant_map::TenantMap;

/// The counters of one gate.
#[derive(Debug)]
pub(crate) struct Local {
    /// Sharded by tenant, so that all counters of a check are in one shard.
    shards: Sharded<Shard>,
    live_gates: AtomicU64,
    live_gates_of_region: AtomicU64,
    clock: Clock,
}

#[derive(Debug)]
struct Shard(TenantMap<CounterName, LocalCounter>);

/// A counter, and the times at which it can be evicted.
#[derive(Debug)]
struct LocalCounter {
    counter: Counter,
    /// The time until which the counter has nothing left, in microseconds.
    spent_until_us: u64,
    /// The time from which the counter equals an unused one, in microseconds.
    untouched_at_us: u64,
}

/// The most counters of one shard.
const COUNTERS_MAX: usize = 32_768;
/// The most counters of one tenant.
const TENANT_COUNTERS_MAX: usize = 16_384;
/// The wait after a denial that only the outage causes: about the time until Redis is next probed.
pub(crate) const RETRY_AFTER_MS: u64 = 1_000;

impl Default for Shard {
    fn default() -> Self {
        Self(TenantMap::with_share(COUNTERS_MAX, TENANT_COUNTERS_MAX))
    }
}

impl Local {
    /// No counters, and one live gate.
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            shards: Sharded::default(),
            live_gates: AtomicU64::new(1),
            live_gates_of_region: AtomicU64::new(1),
            clock,
        }
    }

    /// Sets the number of gates by which limits are divided.
    pub(crate) fn set_live_gates(&self, gates: LiveGates) {
        self.live_gates.store(gates.all.max(1), Ordering::Relaxed);
        self.live_gates_of_region.store(gates.of_region.max(1), Ordering::Relaxed);
    }

    /// The number of gates by which limits are divided.
    pub(crate) fn live_gates(&self) -> LiveGates {
        LiveGates {
            all: self.live_gates.load(Ordering::Relaxed),
            of_region: self.live_gates_of_region.load(Ordering::Relaxed),
        }
    }

    /// Decides by this gate's clock. Returns one decision for each limit of each rule.
    pub(crate) fn decide(
        &self,
        tenant: TenantId,
        operation: Operation,
        cost: u64,
        charges: &[RuleCharge],
    ) -> Vec<Decision> {
        if charges.is_empty() {
            return Vec::new();
        }
        let now = Micros::from_ms(self.clock.now().as_millis_u64());
        let gates = self.live_gates();
        let rules: Vec<_> =
            charges.iter().map(|charge| meters(charge, tenant, gates, now)).collect();
        let mut shard = self.shards.of(tenant);
        let takes = matches!(operation, Operation::Consume | Operation::Record);
        let has_room = !takes || shard.reserve(tenant, &rules, now);
        let check = Check {
            operation: if has_room { operation } else { Operation::Peek },
            cost,
            rules,
            lease_id: None,
            charged: None,
        };
        let mut decisions = shard.decide(tenant, &check, now);
        drop(shard);
        let limits = charges.iter().flat_map(RuleCharge::limits);
        for (decision, limit) in decisions.iter_mut().zip(limits) {
            if !has_room {
                decision.allowed = false;
                decision.retry_after_ms = decision.retry_after_ms.map(|ms| ms.max(RETRY_AFTER_MS));
            }
            if decision.retry_after_ms.is_none() && cost <= limit.algorithm.limit() {
                // The cost exceeds this gate's share, but not the limit: Redis can admit it.
                decision.retry_after_ms = Some(RETRY_AFTER_MS);
            }
        }
        decisions
    }
}

impl Shard {
    /// Makes room for the counters of a check. Returns false if that fails: counters that equal an unused one are evicted
    /// first, those with nothing left never.
    fn reserve(&mut self, tenant: TenantId, rules: &[RuleMeters], now: Micros) -> bool {
        let untouched = |counter: &LocalCounter| counter.untouched_at_us <= now.0;
        let unspent = |counter: &LocalCounter| counter.spent_until_us <= now.0;
        names(rules).all(|name| {
            if self.0.get(tenant, &name).is_some() {
                return true;
            }
            let room = self.0.reserve(tenant, untouched, untouched);
            let room = room.or_else(|_| self.0.reserve(tenant, unspent, unspent));
            if room.is_ok() {
                self.0.insert(tenant, name, LocalCounter::untouched());
            }
            room.is_ok()
        })
    }

    /// Decides a check by the counters of this shard.
    fn decide(&mut self, tenant: TenantId, check: &Check, now: Micros) -> Vec<Decision> {
        let mut counters = Counters::default();
        for name in names(&check.rules) {
            if let Some(local) = self.0.get_mut(tenant, &name) {
                counters.0.insert(name, std::mem::take(&mut local.counter));
            }
        }
        let decisions = decide(&mut counters, check, now);
        let mut decided = decisions.iter();
        for rule in &check.rules {
            for ((name, meter), decision) in rule.limits.iter().zip(decided.by_ref()) {
                if let Some(local) = self.0.get_mut(tenant, name) {
                    let mut counter = counters.0.remove(name).unwrap_or_default();
                    meter.compact(&mut counter);
                    *local = LocalCounter::decided(counter, decision, now);
                }
            }
            if let Some(BlockMeter { name, .. }) = rule.block
                && let Some(local) = self.0.get_mut(tenant, &name)
            {
                *local = LocalCounter::block(counters.0.remove(&name).unwrap_or_default());
            }
        }
        decisions
    }
}

impl LocalCounter {
    fn untouched() -> Self {
        Self { counter: Counter::default(), spent_until_us: 0, untouched_at_us: 0 }
    }

    fn decided(counter: Counter, decision: &Decision, now: Micros) -> Self {
        let untouched_at_us = now.0 + decision.reset_after_ms * 1000;
        let spent = decision.remaining == 0 || !decision.allowed;
        Self { counter, spent_until_us: if spent { untouched_at_us } else { 0 }, untouched_at_us }
    }

    fn block(counter: Counter) -> Self {
        let until_us = match counter {
            Counter::BlockedUntil { until_us, .. } => until_us,
            _ => 0,
        };
        Self { counter, spent_until_us: until_us, untouched_at_us: until_us }
    }
}

/// The names of all counters of these rules.
fn names(rules: &[RuleMeters]) -> impl Iterator<Item = CounterName> + '_ {
    rules.iter().flat_map(|rule| {
        let block = rule.block.iter().map(|block| block.name);
        rule.limits.iter().map(|(name, _)| *name).chain(block)
    })
}

/// The meters of a rule, with this gate's share of its limits.
fn meters(charge: &RuleCharge, tenant: TenantId, gates: LiveGates, now: Micros) -> RuleMeters {
    let gates = match charge.active.rule.reach() {
        Reach::World => gates.all,
        Reach::Region => gates.of_region,
    };
    let mut meters = charge.meters(tenant, |quota| calendar::bounds(quota, now));
    for ((_, meter), limit) in meters.limits.iter_mut().zip(charge.limits()) {
        *meter = charge.meter(&limit.algorithm.share(gates), |quota| calendar::bounds(quota, now));
    }
    meters
}

#[cfg(test)]
mod tests;
