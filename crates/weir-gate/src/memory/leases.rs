//! Leases: units that this gate took from Redis in advance, to admit checks by itself.
//!
//! Leased units count as taken in Redis from the beginning. [`Unleased`] states the rules that are not leased. The others have
//! one limit:
//! - A `fixed_window` or `quota` with `consistency: leased`. Units belong to the window in which they were taken and end with
//!   it, so all gates together never admit more than the limit.
//! - A `token_bucket` or `sliding_window_counter` with `consistency: approximate`, within the bound of
//!   [`weir_domain::approximation`]. It counts everything that a gate holds, so a gate takes no units while others of the same
//!   counter are unsettled. Units of a sliding window counter are used until two seconds before its aligned window ends, and
//!   those of a bucket for ten seconds.
//!
//! Unused units go back to Redis (`lease_keeper`): when no check used the lease for two seconds, when the rule was edited, when
//! the gate receives no announcements, and when it stops. Until Redis has confirmed the return, they are *unsettled*.
//! Only a gate that is killed loses its leases: at most one for each counter, of at most 1 % of the limit.

mod call_ids;
mod early;
mod lease;
mod request;
mod store;
mod unsettled;
mod window;

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_domain::charge::RuleCharge;
use weir_domain::decide::Decision;
use weir_domain::id::TenantId;
use weir_domain::subject::SubjectKey;
use weir_domain::unleased::Unleased;
use weir_redis::placement::Buckets;

use self::call_ids::CallIds;
use self::early::EarlyRequests;
use self::lease::Lease;
use self::store::{LEASES_MAX, LeaseStore, Shard};
use self::unsettled::Holder;

pub(crate) use request::LeaseRequest;
pub(crate) use unsettled::{Origin, Unsettled};
pub(crate) use window::LeaseWindow;

/// The leases of one gate.
#[derive(Debug)]
pub(crate) struct Leases {
    store: Arc<LeaseStore>,
    early: EarlyRequests,
}

/// The result of a check for the leases of this gate.
#[derive(Debug)]
pub(crate) enum LeaseOutcome {
    /// The check was admitted with units of a lease, which belong to this window.
    Admitted(Vec<Decision>, LeaseWindow),
    /// The lease needs units: take them from Redis together with the cost of the check.
    Take(LeaseRequest),
    /// No lease decides the check.
    NotLeased,
}

/// The units that a gate took from Redis and has not used.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holdings {
    pub(crate) leases: u64,
    pub(crate) units: u64,
}

/// The time without use after which units are returned.
const IDLE: Duration = Duration::from_secs(2);

impl Leases {
    /// No leases. No units are taken before [`Leases::set_connected`].
    pub(crate) fn new() -> Self {
        Self { store: Arc::new(LeaseStore::new()), early: EarlyRequests::default() }
    }

    /// The ids of calls that settle units.
    pub(crate) fn ids(&self) -> &CallIds {
        &self.store.ids
    }

    /// Sets the buckets about which announcements are received. Units of other buckets are returned, and none are taken.
    pub(crate) fn set_connected(&self, buckets: Buckets, now: Instant) {
        self.store.set_connected(buckets);
        let ends = |_: &_, lease: &Lease| !self.store.is_connected(lease.tenant(), lease.charge());
        self.store.shards.each().for_each(|mut shard| shard.end(now, ends));
    }

    /// Decides a check that consumes `cost`, if it is charged to one leased rule and the lease has enough units.
    pub(crate) fn spend(
        &self,
        tenant: TenantId,
        rules: &[RuleCharge],
        cost: u64,
        now: Instant,
    ) -> LeaseOutcome {
        let [charge] = rules else { return LeaseOutcome::NotLeased };
        if !is_leased(charge) || !self.store.is_connected(tenant, charge) {
            return LeaseOutcome::NotLeased;
        }
        let key = (charge.subject, charge.active.id);
        let mut shard = self.store.shards.of(charge.subject);
        let is_current = shard.leases.get(tenant, &key).map(|lease| lease.is_of(charge));
        if is_current == Some(false)
            && let Some(lease) = shard.leases.remove(tenant, &key)
        {
            shard.retire(lease, Some(charge), now);
        }
        if is_current != Some(true) && !shard.open(tenant, key, charge, now) {
            return LeaseOutcome::NotLeased;
        }
        let resets = shard.resets(tenant, charge.subject);
        let Shard { leases, unsettled, .. } = &mut *shard;
        let Some(lease) = leases.get_mut(tenant, &key) else { return LeaseOutcome::NotLeased };
        if let Some(decision) = lease.spend(cost, now) {
            return LeaseOutcome::Admitted(vec![decision], lease.window(resets));
        }
        if lease.is_taking() || lease.rests(now) {
            return LeaseOutcome::NotLeased;
        }
        if lease.is_over(now) && lease.is_approximate() {
            unsettled.extend(lease.take_returned(now));
        }
        let units = if lease.has_other_holders() { cost } else { lease.next_units(cost, now) };
        LeaseOutcome::Take(LeaseRequest::new(&self.store, lease, (units, cost), resets, now))
    }

    /// Requests units before they are needed, if those of the lease last for less than `wait` at the present rate. The lease
    /// keeper sends the request.
    pub(crate) fn take_early(
        &self,
        tenant: TenantId,
        charge: &RuleCharge,
        wait: Duration,
        now: Instant,
    ) {
        let key = (charge.subject, charge.active.id);
        let mut shard = self.store.shards.of(charge.subject);
        let resets = shard.resets(tenant, charge.subject);
        let Some(lease) = shard.leases.get_mut(tenant, &key) else { return };
        if !lease.is_of(charge) || lease.is_taking() || lease.has_other_holders() {
            return;
        }
        if !lease.runs_low(wait, now) {
            return;
        }
        let Some(units) = lease.early_units(now) else { return };
        let request = LeaseRequest::new(&self.store, lease, (units, 0), resets, now);
        drop(shard);
        self.early.push(request);
    }

    /// Waits for requests that were made before their units are needed, and takes them out.
    pub(crate) async fn early_requests(&self) -> Vec<LeaseRequest> {
        self.early.take().await
    }

    /// Takes back units of a window that a check did not use: into the lease, or else to be returned to Redis.
    pub(crate) fn put_back(
        &self,
        tenant: TenantId,
        charge: &RuleCharge,
        units: u64,
        window: LeaseWindow,
        now: Instant,
    ) {
        let key = (charge.subject, charge.active.id);
        let mut shard = self.store.shards.of(charge.subject);
        if shard.resets(tenant, charge.subject) != window.resets {
            // The units were possibly taken before the reset.
            drop(shard);
            return self.lose(units);
        }
        let lease = shard.leases.get_mut(tenant, &key);
        if lease.is_some_and(|lease| lease.is_of(charge) && lease.put_back(units, window, now)) {
            return;
        }
        drop(shard);
        let LeaseWindow { ends, until, .. } = window;
        let charge = charge.clone();
        let origin = Origin::Return { units, ends };
        let holder = Holder::default();
        self.keep_unsettled(Unsettled { tenant, charge, origin, id: None, until, holder }, now);
    }

    /// The number of resets that possibly concerned the counters of this subject.
    pub(crate) fn resets(&self, tenant: TenantId, subject: SubjectKey) -> u64 {
        self.store.shards.of(subject).resets(tenant, subject)
    }

    /// Drops the leases of a tenant's subject whose counters were reset.
    pub(crate) fn reset(&self, tenant: TenantId, subject: SubjectKey) {
        self.store.shards.of(subject).reset(tenant, subject);
    }

    /// Drops all leases: Redis lost the counters from which they were taken.
    pub(crate) fn reset_all(&self) {
        self.store.shards.each().for_each(|mut shard| shard.reset_all());
    }

    /// Ends the lease of a subject under a rule. Returns its unsettled entries.
    pub(crate) fn end(
        &self,
        tenant: TenantId,
        charge: &RuleCharge,
        now: Instant,
    ) -> Vec<Unsettled> {
        let mut shard = self.store.shards.of(charge.subject);
        if let Some(lease) = shard.leases.remove(tenant, &(charge.subject, charge.active.id)) {
            shard.retire(lease, None, now);
        }
        let is_of = |entry: &mut Unsettled| {
            entry.tenant == tenant
                && entry.charge.subject == charge.subject
                && entry.charge.active.id == charge.active.id
        };
        shard.unsettled.extract_if(.., is_of).collect()
    }

    /// Ends idle leases, or all, and takes out the unsettled entries.
    pub(crate) fn take_unsettled(&self, all: bool, now: Instant) -> Vec<Unsettled> {
        let mut unsettled = Vec::new();
        for mut shard in self.store.shards.each() {
            shard.end(now, |_, lease| all || lease.is_idle(now, IDLE));
            unsettled.append(&mut shard.take_unsettled(now));
        }
        unsettled
    }

    /// Puts back an entry that could not be settled, to be tried again while its window lasts.
    pub(crate) fn keep_unsettled(&self, entry: Unsettled, now: Instant) {
        let mut shard = self.store.shards.of(entry.charge.subject);
        if entry.can_be_tried_at(now) && shard.unsettled.len() < LEASES_MAX {
            shard.unsettled.push(entry);
        } else {
            drop(shard);
            self.lose(entry.units());
        }
    }

    /// Counts units that this gate can neither use nor return.
    pub(crate) fn lose(&self, units: u64) {
        self.store.lose(units);
    }

    /// Returns the number of lost units, and sets it to 0.
    pub(crate) fn take_lost(&self) -> u64 {
        self.store.take_lost()
    }

    /// The leases with units, and the units in leases and unsettled returns.
    pub(crate) fn holdings(&self) -> Holdings {
        let mut holdings = Holdings::default();
        for shard in self.store.shards.each() {
            for units in shard.leases.values().map(Lease::units).filter(|units| *units > 0) {
                holdings.leases += 1;
                holdings.units += units;
            }
            holdings.units += shard.unsettled.iter().map(Unsettled::units).sum::<u64>();
        }
        holdings
    }

    /// The number of units in leases and unsettled returns.
    #[cfg(test)]
    pub(crate) fn held(&self) -> u64 {
        self.holdings().units
    }
}

/// Whether gates lease units of the rule.
fn is_leased(charge: &RuleCharge) -> bool {
    !charge.is_alone() && Unleased::reason(&charge.active.rule, charge.limits()).is_none()
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
