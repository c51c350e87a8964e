//! The stage of leased rules: decides checks with units that were taken in advance, and takes new ones.

use weir_domain::request::Operation;

use super::pending::{ChargedAt, PendingCheck};
use super::redis;
use crate::memory::lease_keeper;
use crate::memory::leases::LeaseOutcome;
use crate::regions;
use crate::state::GateState;

/// Answers checks with leased units. If a lease needs new units, Redis decides all pending checks here, in one call and in
/// order: one call for each lease would double the time of a mixed batch. Checks whose units Redis denied are repeated in a
/// second call with their exact cost, so no check with a request for units stays pending.
pub(super) async fn answer<'a>(state: &'a GateState, checks: &mut [PendingCheck<'a>]) {
    let mut has_requests = false;
    for check in checks.iter_mut() {
        if check.is_pending() && check.is_leasable() {
            has_requests |= spend(state, check);
        }
    }
    if has_requests {
        redis::answer(state, checks).await;
        // Pending are only checks that lost their request for units, if there are any.
        redis::answer(state, checks).await;
    }
}

/// Answers the check with units of the lease, or attaches a request for units. Returns whether it attached a request.
fn spend<'a>(state: &'a GateState, check: &mut PendingCheck<'a>) -> bool {
    let tenant = check.caller.tenant;
    let cost = check.request.cost();
    match state.leases.spend(tenant, check.charges(), cost, check.started) {
        LeaseOutcome::Admitted(decisions, window) => {
            state.meters.leased();
            let charged = (tenant, check.charges());
            regions::take_early(state, &check.caller.book, charged, check.started);
            check.charged_at = Some(ChargedAt::in_advance(window.taken_at));
            check.answer(&decisions);
        }
        LeaseOutcome::Take(request) => check.lease = Some(request),
        LeaseOutcome::NotLeased => {}
    }
    check.lease.is_some()
}

/// Returns the leased units of the subjects to which the pending checks refund units. Otherwise a refund of more than was
/// consumed would release leased units, which this gate can still give out.
pub(super) async fn return_units_to_refund(state: &GateState, checks: &[PendingCheck<'_>]) {
    for check in checks {
        if check.is_pending() && check.request.operation() == Operation::Refund {
            return_units(state, check).await;
        }
    }
}

async fn return_units(state: &GateState, check: &PendingCheck<'_>) {
    for charge in check.charges() {
        let unsettled = state.leases.end(check.caller.tenant, charge, check.started);
        if !unsettled.is_empty() {
            lease_keeper::settle(state, unsettled, check.started).await;
        }
    }
}
