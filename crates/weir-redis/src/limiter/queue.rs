//! The queue between callers and the batcher: one queue for each tenant, shared fairly.
//!
//! Calls of the script are shared by deficit round robin. In each turn a tenant can send checks of a quantum of estimated
//! script time, however many checks it has queued; unused time carries over while its queue lasts. The checks of a call are
//! answered together, so a tenant that has no more checks does not wait for further turns of the others: they are in the next
//! call. While several tenants send checks, calls are half as long, because each also waits for the calls of the others.
//!
//! A tenant that floods the queue fills its own part of it. When the whole queue is full, the longest tenant queue gives up its
//! newest checks to make room for others.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use weir_domain::id::TenantId;

use super::deadline::expired;
use super::pending::PendingCheck;
use crate::error::RedisError;

/// Pending checks of all tenants. The queue refuses checks at first, and permanently after it was closed.
#[derive(Debug, Default)]
pub(super) struct FairQueue {
    tenants: Mutex<Tenants>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Tenants {
    queues: HashMap<TenantId, TenantQueue>,
    /// The tenants that have pending checks, in the order of their turns.
    turns: VecDeque<TenantId>,
    /// The number of checks of all tenants.
    checks: usize,
    accepts: bool,
    closed: bool,
    /// Empty queues, for reuse.
    spare: Vec<VecDeque<PendingCheck>>,
    /// The tenant whose checks were taken last.
    last: Option<TenantId>,
    /// The end of the time for which calls are half as long, because several tenants sent checks.
    shared_until: Option<Instant>,
}

#[derive(Debug)]
struct TenantQueue {
    pending: VecDeque<PendingCheck>,
    checks: usize,
    /// The estimated script time that the tenant can still use in this turn, in microseconds.
    deficit: u32,
}

/// Checks that were taken from the queue.
#[derive(Debug, Default)]
pub(super) struct Drained {
    /// Checks to send in one call.
    pub(super) batch: Vec<PendingCheck>,
    /// Checks that are too late to be sent.
    pub(super) expired: Vec<PendingCheck>,
    /// The cost of the checks to send.
    cost: u32,
}

/// The most checks in the queue.
const CHECKS_MAX: usize = 10_000;
/// The most checks of one tenant in the queue.
const TENANT_CHECKS_MAX: usize = CHECKS_MAX / 2;
/// The estimated script time by which a tenant's deficit grows in each of its turns, in microseconds.
const QUANTUM: u32 = 100;
const SPARE_MAX: usize = 16;
/// How long calls stay half as long after checks of another tenant were taken.
const SHARED: Duration = Duration::from_secs(10);

impl FairQueue {
    /// Adds checks to the end of the tenant's queue.
    pub(super) fn push(&self, tenant: TenantId, pending: PendingCheck) -> Result<(), RedisError> {
        let mut tenants = self.lock();
        if !tenants.accepts {
            return Err(RedisError::Away);
        }
        let displaced = tenants.make_room(tenant, pending.checks)?;
        let was_empty = tenants.turns.is_empty();
        tenants.push(tenant, pending);
        drop(tenants);
        reply_all(displaced, &RedisError::Overloaded);
        if was_empty {
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// Waits for pending checks. Returns false if the queue was closed.
    pub(super) async fn arrival(&self) -> bool {
        loop {
            {
                let tenants = self.lock();
                if tenants.closed {
                    return false;
                }
                if !tenants.turns.is_empty() {
                    return true;
                }
            }
            self.arrived.notified().await;
        }
    }

    /// Takes the checks of the next call, by turns of the tenants: up to this cost, or half of it while there are several, but
    /// at least one check. The turns end after the round in which a tenant had no more checks.
    pub(super) fn drain(&self, cost_max: u32, now: Instant) -> Drained {
        self.lock().drain(cost_max, now)
    }

    /// The earliest deadline of all queued checks. The checks of a tenant are in order of their deadlines.
    pub(super) fn earliest_deadline(&self) -> Option<Instant> {
        let tenants = self.lock();
        tenants.queues.values().filter_map(|queue| Some(queue.pending.front()?.deadline)).min()
    }

    /// Replies with a timeout to the checks whose deadline is not after `until`.
    pub(super) fn expire(&self, until: Instant) {
        let expired = self.lock().take_expired(until);
        reply_all(expired, &RedisError::Timeout);
    }

    /// Accepts checks from now on.
    pub(super) fn accept(&self) {
        let mut tenants = self.lock();
        tenants.accepts = !tenants.closed;
    }

    /// Fails the queued checks, and all checks from now on.
    pub(super) fn refuse(&self) {
        let mut tenants = self.lock();
        tenants.accepts = false;
        let pending = tenants.take_all();
        drop(tenants);
        reply_all(pending, &RedisError::Away);
    }

    /// Fails all checks, and never accepts any again.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.refuse();
        self.arrived.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Tenants> {
        // No operation leaves the queues half changed, so they are valid after a panic.
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tenants {
    /// Makes room for `checks` of this tenant. Returns the checks that must leave the queue for them.
    fn make_room(
        &mut self,
        tenant: TenantId,
        checks: usize,
    ) -> Result<Vec<PendingCheck>, RedisError> {
        let own = self.queues.get(&tenant).map_or(0, |queue| queue.checks);
        if own + checks > TENANT_CHECKS_MAX {
            return Err(RedisError::Overloaded);
        }
        let mut displaced = Vec::new();
        while self.checks + checks > CHECKS_MAX {
            let longest = self.queues.iter().max_by_key(|(_, queue)| queue.checks);
            let longest = longest.filter(|(_, queue)| queue.checks > own + checks);
            let Some((&longest, _)) = longest else { return Err(RedisError::Overloaded) };
            displaced.extend(self.pop_newest(longest));
        }
        Ok(displaced)
    }

    fn push(&mut self, tenant: TenantId, pending: PendingCheck) {
        let Self { queues, turns, spare, .. } = self;
        let queue = queues.entry(tenant).or_insert_with(|| {
            turns.push_back(tenant);
            TenantQueue { pending: spare.pop().unwrap_or_default(), checks: 0, deficit: QUANTUM }
        });
        queue.checks += pending.checks;
        self.checks += pending.checks;
        queue.pending.push_back(pending);
    }

    fn pop_newest(&mut self, tenant: TenantId) -> Option<PendingCheck> {
        let queue = self.queues.get_mut(&tenant)?;
        let newest = queue.pending.pop_back()?;
        queue.checks -= newest.checks;
        self.checks -= newest.checks;
        if queue.pending.is_empty() {
            self.turns.retain(|turn| *turn != tenant);
            self.remove(tenant);
        }
        Some(newest)
    }

    fn drain(&mut self, cost_max: u32, now: Instant) -> Drained {
        let is_shared = self.turns.len() > 1 || self.shared_until.is_some_and(|until| now < until);
        let cost_max = if is_shared { cost_max / 2 } else { cost_max };
        let mut drained = Drained::default();
        while !self.turns.is_empty() {
            let mut all_of_a_tenant = false;
            for _ in 0..self.turns.len() {
                let tenant = *self.turns.front().expect("the tenants of a round are in turn");
                if !self.take_turn(tenant, cost_max, now, &mut drained) {
                    // The tenant continues its turn in the next call.
                    return drained;
                }
                all_of_a_tenant |= self.finish_turn(tenant) && !drained.batch.is_empty();
            }
            if all_of_a_tenant {
                break;
            }
        }
        drained
    }

    /// Takes the checks of a tenant in its turn. Returns false if the call has no room for the next one.
    fn take_turn(
        &mut self,
        tenant: TenantId,
        cost_max: u32,
        now: Instant,
        drained: &mut Drained,
    ) -> bool {
        let queue = self.queues.get_mut(&tenant).expect("a tenant in turn has a queue");
        while let Some(next) = queue.pending.front() {
            let skipped = !next.is_awaited() || expired(next.deadline, now);
            if !skipped
                && !drained.batch.is_empty()
                && drained.cost.saturating_add(next.cost) > cost_max
            {
                return false;
            }
            if !skipped && next.cost > queue.deficit {
                break;
            }
            let next = queue.pending.pop_front().expect("it was there");
            queue.checks -= next.checks;
            self.checks -= next.checks;
            if skipped {
                drained.expired.push(next);
                continue;
            }
            queue.deficit -= next.cost;
            drained.cost = drained.cost.saturating_add(next.cost);
            drained.batch.push(next);
            if self.last.replace(tenant).is_some_and(|last| last != tenant) {
                self.shared_until = Some(now + SHARED);
            }
        }
        true
    }

    /// Ends the turn of the first tenant. Returns whether it has no more checks.
    fn finish_turn(&mut self, tenant: TenantId) -> bool {
        self.turns.pop_front();
        let queue = self.queues.get_mut(&tenant).expect("a tenant in turn has a queue");
        let is_empty = queue.pending.is_empty();
        if is_empty {
            self.remove(tenant);
        } else {
            queue.deficit = queue.deficit.saturating_add(QUANTUM);
            self.turns.push_back(tenant);
        }
        is_empty
    }

    fn take_expired(&mut self, until: Instant) -> Vec<PendingCheck> {
        let mut expired = Vec::new();
        for queue in self.queues.values_mut() {
            while let Some(first) = queue.pending.pop_front_if(|first| first.deadline <= until) {
                queue.checks -= first.checks;
                self.checks -= first.checks;
                expired.push(first);
            }
        }
        self.remove_empty();
        expired
    }

    fn take_all(&mut self) -> Vec<PendingCheck> {
        let pending = self.queues.values_mut().flat_map(|queue| queue.pending.drain(..)).collect();
        self.checks = 0;
        self.remove_empty();
        pending
    }

    fn remove_empty(&mut self) {
        let Self { queues, turns, .. } = self;
        queues.retain(|_, queue| !queue.pending.is_empty());
        turns.retain(|tenant| queues.contains_key(tenant));
    }

    fn remove(&mut self, tenant: TenantId) {
        let removed = self.queues.remove(&tenant);
        if let Some(queue) = removed.filter(|_| self.spare.len() < SPARE_MAX) {
            self.spare.push(queue.pending);
        }
    }
}

fn reply_all(pending: Vec<PendingCheck>, error: &RedisError) {
    for mut checks in pending {
        checks.reply(Err(error.clone()));
    }
}

#[cfg(test)]
mod tests;
