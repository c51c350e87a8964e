//! The stage that finds the rules that match, and answers checks that no counter decides.

use weir_domain::algorithm::LeaseId;
use weir_domain::charge::RuleCharge;
use weir_domain::matching::{Matched, matched_in};
use weir_domain::request::Operation;

use super::pending::{PendingCheck, pending};
use crate::decide::merged_check::merged;
use crate::decide::turns::Turns;
use crate::state::GateState;

/// The positions of the requests that match more limits than one check can have.
#[derive(Debug)]
pub(crate) struct TooManyLimits(pub(crate) Vec<usize>);

/// Matches the rules. Answers checks that match no limit and have no idempotency key.
pub(super) async fn answer(
    state: &GateState,
    checks: &mut [PendingCheck<'_>],
) -> Result<(), TooManyLimits> {
    let mut turns = Turns::default();
    for check in checks.iter_mut() {
        if let (Some(namespace), true) = (check.namespace, check.is_pending()) {
            let now = check.caller.at;
            let mut matched = Vec::new();
            for request in check.requests {
                let matching = || matched_in(namespace, request, now);
                let found = state.heavy_matching.run(namespace, matching).await;
                if check.origins.is_none() {
                    check.matched = found;
                } else {
                    matched.push(found);
                }
            }
            if let Some(origins) = &mut check.origins {
                (check.matched, *origins) = merged(check.requests, matched);
            }
        }
        check.lease_id = lease_id(state, check);
        turns.worked(check.limit_count()).await;
    }
    let excessive = checks.iter().enumerate().filter(|(_, check)| has_too_many_limits(check));
    let excessive: Vec<usize> = excessive.map(|(at, _)| at).collect();
    if !excessive.is_empty() {
        return Err(TooManyLimits(excessive));
    }
    for check in pending(checks) {
        if check.charges().is_empty() && check.idempotency_key().is_none() {
            check.answer(&[]);
        }
    }
    Ok(())
}

/// The id of the leases that the check takes if it is admitted: that of its reservation, or a new one.
fn lease_id(state: &GateState, check: &PendingCheck<'_>) -> Option<LeaseId> {
    if !check.charges().iter().any(RuleCharge::has_concurrency) {
        return None;
    }
    match check.request.operation() {
        Operation::Consume => Some(LeaseId(state.random.bytes())),
        Operation::Reserve(reserve) => Some(LeaseId(reserve.id.0)),
        _ => None,
    }
}

fn has_too_many_limits(check: &PendingCheck<'_>) -> bool {
    matches!(check.matched, Matched::TooManyLimits)
}
