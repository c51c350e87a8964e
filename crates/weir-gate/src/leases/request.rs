//! A request for units, on its way to Redis and back.

use std::time::{Duration, Instant};

use weir_domain::charge::RuleCharge;
use weir_domain::decide::Decision;
use weir_domain::id::TenantId;
use weir_domain::time::Micros;
use weir_redis::limiter::Idempotency;

use super::lease::end_of;
use super::unsettled::{Origin, TRIED_FOR, Unsettled};
use super::{Key, Leases};

/// Units asked of Redis. No other check asks for units of the same counter meanwhile.
///
/// Dropped without an answer, Redis may have given the units or not: the request is then settled later.
#[derive(Debug)]
pub(crate) struct LeaseRequest<'a> {
    leases: &'a Leases,
    tenant: TenantId,
    charge: RuleCharge,
    units: u64,
    cost: u64,
    id: u64,
    /// Resets of the shard before the request.
    resets: u64,
    asked_at: Instant,
    settled: bool,
}

/// Times are whole milliseconds, rounded up, and clocks do not run alike to the last microsecond.
const CLOCK_MARGIN: Duration = Duration::from_millis(2);

impl<'a> LeaseRequest<'a> {
    pub(super) fn new(
        leases: &'a Leases,
        (tenant, charge): (TenantId, RuleCharge),
        (units, cost): (u64, u64),
        (id, resets, asked_at): (u64, u64, Instant),
    ) -> Self {
        Self { leases, tenant, charge, units, cost, id, resets, asked_at, settled: false }
    }

    /// How many units to ask for: the check's own and the lease's.
    pub(crate) fn units(&self) -> u64 {
        self.units
    }

    /// Sets how many units to ask for.
    #[cfg(test)]
    pub(super) fn ask_for(&mut self, units: u64) {
        self.units = units;
    }

    /// What the check itself needs.
    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }

    /// How Redis recognises the request if it is repeated. None where nothing is asked but the check's cost.
    pub(crate) fn idempotency(&self) -> Option<Idempotency> {
        self.asks_for_more().then(|| self.leases.idempotency(self.id))
    }

    /// Whether more is asked for than the check needs.
    pub(crate) fn asks_for_more(&self) -> bool {
        self.units > self.cost
    }

    /// Redis gave the units at `at`: the check has its own, the others stay here. Returns the decision about the check.
    pub(crate) fn given(
        mut self,
        at: Micros,
        decisions: Vec<Decision>,
        now: Instant,
    ) -> Vec<Decision> {
        self.settled = true;
        let &[decision] = decisions.as_slice() else { return decisions };
        let reset = Duration::from_millis(decision.reset_after_ms);
        let until = self.asked_at + reset.saturating_sub(CLOCK_MARGIN);
        let (surplus, key) = (self.units - self.cost, self.key());
        let mut shard = self.leases.shards.of(key.0);
        if shard.resets != self.resets {
            // Nobody knows whether the units were taken before the reset.
            drop(shard);
            self.leases.lose(surplus);
            return decisions;
        }
        let connected = self.leases.connected.load(std::sync::atomic::Ordering::SeqCst);
        let lease = shard.leases.get_mut(self.tenant, &key);
        if let Some(lease) = lease.filter(|it| connected && it.is_taken_by(self.id)) {
            lease.release();
            let decision = lease.add(surplus, self.cost, decision, (at, until, now));
            return decision.map_or(decisions, |it| vec![it]);
        }
        if surplus > 0 {
            let (tenant, charge) = (self.tenant, self.charge.clone());
            let origin = Origin::Return { units: surplus, ends: end_of(at, decision) };
            shard.unsettled.push(Unsettled { tenant, charge, origin, id: None, until });
        }
        decisions
    }

    /// Redis took nothing: it denied, or was not asked.
    pub(crate) fn not_taken(mut self) {
        self.settled = true;
    }

    fn key(&self) -> Key {
        (self.charge.subject, self.charge.active.id)
    }
}

impl Drop for LeaseRequest<'_> {
    fn drop(&mut self) {
        let key = self.key();
        let mut shard = self.leases.shards.of(key.0);
        let lease = shard.leases.get_mut(self.tenant, &key);
        if let Some(lease) = lease.filter(|it| it.is_taken_by(self.id)) {
            lease.release();
        }
        if !self.settled && self.asks_for_more() && shard.resets == self.resets {
            let (tenant, charge) = (self.tenant, self.charge.clone());
            let origin = Origin::Unanswered { units: self.units, cost: self.cost };
            let until = self.asked_at + TRIED_FOR;
            shard.unsettled.push(Unsettled { tenant, charge, origin, id: Some(self.id), until });
        }
    }
}
