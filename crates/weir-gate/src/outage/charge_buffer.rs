//! Records and commits that Redis did not run, in memory until `charge_sender` sends them.
//!
//! The buffer is bounded by charges and by bytes. When it is full, the oldest charge of the tenant with the most charges is
//! dropped, so one tenant cannot displace the others.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use weir_domain::id::{KeyId, TenantId};
use weir_domain::request::Request;

use crate::requests::reservation_text::ReservationText;

/// A charge to be sent when Redis returns.
#[derive(Debug, Clone)]
pub(crate) struct BufferedCharge {
    pub(crate) tenant: TenantId,
    /// The API key of the caller.
    pub(crate) key: KeyId,
    pub(crate) charge: Charge,
    /// The time since which Redis has possibly run it, by the gate's monotonic clock.
    pub(crate) possibly_run: Option<Instant>,
}

#[derive(Debug, Clone)]
pub(crate) enum Charge {
    /// A record with an idempotency key.
    Record(Request),
    Commit(BufferedCommit),
}

/// The commit of a reservation.
#[derive(Debug, Clone)]
pub(crate) struct BufferedCommit {
    pub(crate) reservation: ReservationText,
    pub(crate) cost: u64,
    /// Records the cost if the reservation is no longer open.
    pub(crate) late: Option<Request>,
}

/// The charges of all tenants.
#[derive(Debug, Default)]
pub(crate) struct ChargeBuffer(Mutex<Charges>);

#[derive(Debug, Default)]
struct Charges {
    /// Tenants with charges, each the oldest first.
    tenants: HashMap<TenantId, VecDeque<BufferedCharge>>,
    count: usize,
    bytes: usize,
}

/// The most charges, and the most bytes of them.
pub(crate) const CHARGES_MAX: usize = 10_000;
const BYTES_MAX: usize = 32 * 1024 * 1024;
/// The time for which a charge can be repeated that Redis has possibly run: less than the 60 s for which Redis records its
/// idempotency key, by more than a call takes.
const REPEATABLE: Duration = Duration::from_secs(45);
/// The bytes of a charge beside its texts, and of a rule of a reservation.
const CHARGE_BYTES: usize = 512;
const RULE_BYTES: usize = 64;

impl BufferedCharge {
    /// Whether it can be sent without the danger that it is charged twice.
    pub(crate) fn is_repeatable(&self, now: Instant) -> bool {
        let Some(since) = self.possibly_run else { return true };
        match &self.charge {
            // Redis ends the reservation with the charge, and never charges one that is not open.
            Charge::Commit(commit) if commit.reservation.degraded.is_none() => true,
            Charge::Record(_) | Charge::Commit(_) => {
                now.saturating_duration_since(since) < REPEATABLE
            }
        }
    }

    fn bytes(&self) -> usize {
        let texts = match &self.charge {
            Charge::Record(request) => bytes_of(request),
            Charge::Commit(commit) => {
                let late = commit.late.as_ref().map_or(0, bytes_of);
                late + commit.reservation.rules.len() * RULE_BYTES
            }
        };
        CHARGE_BYTES + texts
    }
}

fn bytes_of(request: &Request) -> usize {
    // A name and a value are two allocations.
    request.attributes().iter().map(|(name, value)| name.len() + value.len() + RULE_BYTES).sum()
}

impl ChargeBuffer {
    /// Adds a charge. Returns the number of older charges that were dropped.
    pub(crate) fn insert(&self, charge: BufferedCharge) -> usize {
        let mut charges = self.charges();
        let dropped = charges.drop_excess(1, charge.bytes());
        charges.add(charge, VecDeque::push_back);
        dropped
    }

    /// Puts charges back before the others, in their order. Returns the number of charges that were dropped.
    pub(crate) fn put_back(&self, back: Vec<BufferedCharge>) -> usize {
        let mut charges = self.charges();
        for charge in back.into_iter().rev() {
            charges.add(charge, VecDeque::push_front);
        }
        charges.drop_excess(0, 0)
    }

    /// Takes out up to `most` charges: the oldest ones of each tenant, tenants in turn.
    pub(crate) fn take(&self, most: usize) -> Vec<BufferedCharge> {
        let mut charges = self.charges();
        let mut taken = Vec::new();
        while taken.len() < most && charges.count > 0 {
            let tenants: Vec<_> = charges.tenants.keys().copied().collect();
            for tenant in tenants.into_iter().take(most - taken.len()) {
                taken.extend(charges.remove_oldest(tenant));
            }
        }
        taken
    }

    pub(crate) fn len(&self) -> usize {
        self.charges().count
    }

    fn charges(&self) -> MutexGuard<'_, Charges> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Charges {
    fn add(
        &mut self,
        charge: BufferedCharge,
        push: fn(&mut VecDeque<BufferedCharge>, BufferedCharge),
    ) {
        self.count += 1;
        self.bytes += charge.bytes();
        push(self.tenants.entry(charge.tenant).or_default(), charge);
    }

    fn remove_oldest(&mut self, tenant: TenantId) -> Option<BufferedCharge> {
        let queue = self.tenants.get_mut(&tenant)?;
        let oldest = queue.pop_front();
        if queue.is_empty() {
            self.tenants.remove(&tenant);
        }
        if let Some(oldest) = &oldest {
            self.count -= 1;
            self.bytes -= oldest.bytes();
        }
        oldest
    }

    /// Drops charges until this many more of this many bytes fit.
    fn drop_excess(&mut self, count: usize, bytes: usize) -> usize {
        let mut dropped = 0;
        while self.count + count > CHARGES_MAX || self.bytes + bytes > BYTES_MAX {
            let most = self.tenants.iter().max_by_key(|(_, queue)| queue.len());
            let Some(tenant) = most.map(|(tenant, _)| *tenant) else { break };
            dropped += usize::from(self.remove_oldest(tenant).is_some());
        }
        dropped
    }
}

#[cfg(test)]
mod tests;
