//! Renewals and releases of leases.

use crate::algorithm::{Concurrency, Counter};
use crate::counter::{CounterName, CounterPart};
use crate::decide::Counters;
use crate::id::TenantId;
use crate::request::Operation;
use crate::reservation::Settlement;
use crate::time::Micros;

/// Renews or releases a lease: the twin of these operations of the script. `None` if the lease has ended.
pub fn settle(
    counters: &mut Counters,
    tenant: TenantId,
    operation: Operation,
    now: Micros,
) -> Option<Settlement> {
    let (lease, renews) = match operation {
        Operation::Renew(lease) => (lease, true),
        Operation::Release(lease) => (lease, false),
        _ => return None,
    };
    let rule = lease.rule;
    let part = CounterPart::Slot(lease.slot);
    let subject = lease.subject;
    let name = CounterName { tenant, rule, part, subject };
    let Some(Counter::Leases(leases)) = counters.0.get_mut(&name) else { return None };
    let is_open = if renews {
        Concurrency::renew(leases, lease.id, lease.lease_ms, now)
    } else {
        Concurrency::release(leases, lease.id, lease.lease_ms, now)
    };
    is_open.then_some(Settlement::Leased { at: now })
}
