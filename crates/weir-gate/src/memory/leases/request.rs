//! A request for units of a lease.

use std::sync::Arc;
use std::time::Instant;

use weir_domain::charge::RuleCharge;
use weir_domain::decide::Decision;
use weir_domain::id::TenantId;
use weir_domain::request::Operation;
use weir_domain::time::Micros;
use weir_redis::limiter::{Idempotency, ScriptCheck};

use super::lease::{GivenUnits, Lease};
use super::store::{Key, LeaseStore, Shard};
use super::unsettled::{Holder, Origin, Unsettled, call_of};
use super::window::{LeaseWindow, TRIED_FOR};

/// A request for units. Only one request of a counter is in flight at a time.
///
/// If it is dropped without an answer, Redis has possibly given the units: the request is then settled later.
#[derive(Debug)]
pub(crate) struct LeaseRequest {
    pub(super) store: Arc<LeaseStore>,
    pub(super) tenant: TenantId,
    pub(super) charge: RuleCharge,
    pub(super) units: u64,
    pub(super) cost: u64,
    pub(super) id: u64,
    /// The number of resets of the counter, and of some others, before the request.
    pub(super) resets: u64,
    pub(super) asked_at: Instant,
    pub(super) holder: Holder,
    /// False until Redis has answered.
    pub(super) settled: bool,
}

impl LeaseRequest {
    /// A request for `units`, of which a check needs `cost`. Marks the lease as taking them.
    pub(super) fn new(
        store: &Arc<LeaseStore>,
        lease: &mut Lease,
        (units, cost): (u64, u64),
        resets: u64,
        now: Instant,
    ) -> Self {
        let id = store.ids.next();
        lease.take(id);
        Self {
            store: Arc::clone(store),
            tenant: lease.tenant(),
            charge: lease.charge().clone(),
            units,
            cost,
            id,
            resets,
            asked_at: now,
            holder: lease.holder().clone(),
            settled: false,
        }
    }

    /// The number of units to take: those of the check and those of the lease.
    pub(crate) fn units(&self) -> u64 {
        self.units
    }

    /// Sets the number of units to take.
    #[cfg(test)]
    pub(crate) fn ask_for(&mut self, units: u64) {
        self.units = units;
    }

    /// The idempotency key of the request. `None` if it is for the cost of the check alone.
    pub(crate) fn idempotency(&self) -> Option<Idempotency> {
        self.asks_for_more().then(|| self.store.ids.idempotency(self.id))
    }

    /// Whether the request is for more units than the check needs.
    pub(crate) fn asks_for_more(&self) -> bool {
        self.units > self.cost
    }

    /// The call that takes the units, of a request without a check.
    pub(crate) fn call(&self) -> ScriptCheck<'_> {
        let of = (self.tenant, &self.charge);
        call_of(of, Operation::Consume, self.units, self.idempotency())
    }

    /// Accepts the decisions that Redis made at `at`, and returns those about the check. `None`: Redis denied more units
    /// than the check needs, and can still admit the check alone.
    pub(crate) fn settle(
        self,
        at: Micros,
        decisions: Vec<Decision>,
        now: Instant,
    ) -> Option<Vec<Decision>> {
        if decisions.iter().all(|decision| decision.allowed) {
            return Some(self.given(at, decisions, now));
        }
        let needs_less = self.asks_for_more();
        if let (true, [decision]) = (needs_less, decisions.as_slice()) {
            let key = self.key();
            if let Some(lease) = self.store.shards.of(key.0).leases.get_mut(self.tenant, &key) {
                lease.note_remaining(decision.remaining);
            }
        }
        self.not_taken();
        (!needs_less).then_some(decisions)
    }

    /// Redis gave the units at `at`. Adds those that the check does not need to the lease, and returns the decisions.
    pub(super) fn given(
        mut self,
        at: Micros,
        decisions: Vec<Decision>,
        now: Instant,
    ) -> Vec<Decision> {
        self.settled = true;
        let &[decision] = decisions.as_slice() else { return decisions };
        let [limit] = self.charge.limits() else { return decisions };
        let algorithm = &limit.algorithm;
        let reset_after_ms = decision.reset_after_ms;
        let until = self.asked_at + LeaseWindow::lasts(algorithm, reset_after_ms);
        let ends = LeaseWindow::ends(algorithm, at, reset_after_ms);
        let surplus = self.units - self.cost;
        let key = self.key();
        let mut shard = self.store.shards.of(key.0);
        if shard.resets(self.tenant, key.0) != self.resets {
            // The units were possibly taken before the reset.
            drop(shard);
            self.store.lose(surplus);
            return decisions;
        }
        let connected = self.store.is_connected(self.tenant, &self.charge);
        let Shard { leases, unsettled, .. } = &mut *shard;
        let lease = leases.get_mut(self.tenant, &key);
        if let Some(lease) = lease.filter(|lease| connected && lease.is_taken_by(self.id)) {
            lease.release();
            if lease.is_over(now) || !lease.ends_at(ends) {
                unsettled.extend(lease.take_returned(now));
            }
            let given = GivenUnits { surplus, cost: self.cost, decision, at, ends, until };
            return lease.add(&given, now).map_or(decisions, |decision| vec![decision]);
        }
        if surplus > 0 {
            let tenant = self.tenant;
            let charge = self.charge.clone();
            let origin = Origin::Return { units: surplus, ends };
            let holder = self.holder.clone();
            let until = until + LeaseWindow::returned_for(algorithm);
            unsettled.push(Unsettled { tenant, charge, origin, id: None, until, holder });
        }
        decisions
    }

    /// Redis took nothing: it denied the request, or did not receive it.
    pub(crate) fn not_taken(mut self) {
        self.settled = true;
    }

    fn key(&self) -> Key {
        (self.charge.subject, self.charge.active.id)
    }
}

impl Drop for LeaseRequest {
    fn drop(&mut self) {
        let key = self.key();
        let mut shard = self.store.shards.of(key.0);
        let lease = shard.leases.get_mut(self.tenant, &key);
        if let Some(lease) = lease.filter(|lease| lease.is_taken_by(self.id)) {
            lease.release();
        }
        let is_reset = shard.resets(self.tenant, key.0) != self.resets;
        if !self.settled && self.asks_for_more() && !is_reset {
            let tenant = self.tenant;
            let charge = self.charge.clone();
            let origin = Origin::Unanswered { units: self.units, cost: self.cost };
            let until = self.asked_at + TRIED_FOR;
            let holder = self.holder.clone();
            let id = Some(self.id);
            shard.unsettled.push(Unsettled { tenant, charge, origin, id, until, holder });
        }
    }
}
