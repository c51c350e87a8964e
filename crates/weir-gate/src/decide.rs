//! The decision pipeline: admission → rules → denial cache → split checks → leases → Redis → outage.
//!
//! All stages have the same shape. A stage takes the checks of a request, answers those pending ones that it can, and leaves
//! the others pending for the next stage. The checks of a batch stay in order, and Redis decides them in one call.

mod admission;
mod buffered;
mod commits;
mod count;
mod deferred;
mod denied;
pub(crate) mod heavy_matching;
mod leased;
pub(crate) mod merged_check;
pub(crate) mod open_holds;
mod outage;
mod pending;
mod places;
mod record;
mod redis;
mod renewal;
mod reservation;
mod rules;
mod split;
pub(crate) mod tenant_rates;
mod trace;
pub(crate) mod turns;

use std::time::Instant;

use weir_domain::request::Request;
use weir_redis::error::RedisError;
use weir_redis::limiter::{Answer, ScriptCheck};
use weir_wire::check::CheckAnswer;

use self::pending::PendingCheck;
use crate::decide::merged_check::MergedCheck;
use crate::requests::caller::Caller;
use crate::state::GateState;

pub(crate) use self::buffered::{SentCharge, send_charge};
pub(crate) use self::deferred::{Admission, decide_deferred, order_of};
pub(crate) use self::pending::KeyReused;
pub(crate) use self::places::{Places, Retaken};
pub(crate) use self::record::{Recorded, record};
pub(crate) use self::renewal::{LeaseSettled, release, renew};
pub(crate) use self::reservation::{Committed, Refused, Reserved, commit, exhaust, reserve};
pub(crate) use self::rules::TooManyLimits;

/// Decides requests in order and counts them. Takes nothing if one of them matches too many limits.
pub(crate) async fn decide(
    state: &GateState,
    caller: &Caller,
    requests: &[Request],
) -> Result<Vec<Result<CheckAnswer, KeyReused>>, TooManyLimits> {
    let started = Instant::now();
    let now = state.monotonic.at(started);
    let pending = |request| PendingCheck::new(caller, request, now);
    let mut checks: Vec<_> = requests.iter().map(pending).collect();
    answer(state, &mut checks).await?;
    Ok(count::count(state, &mut checks, started.elapsed()).await)
}

/// Decides checks of several requests in order, and counts them. Each check is charged as a whole or not. Its first request
/// consumes, if any does. Takes nothing if one of the checks matches too many limits, or counters at too many places.
pub(crate) async fn decide_together(
    state: &GateState,
    caller: &Caller,
    calls: &[Vec<Request>],
) -> Result<Vec<MergedCheck>, TooManyLimits> {
    let started = Instant::now();
    let now = state.monotonic.at(started);
    let each = calls.iter().map(|requests| PendingCheck::of_several(caller, requests, now));
    let mut checks: Vec<_> = each.collect();
    answer(state, &mut checks).await?;
    let answers = count::count(state, &mut checks, started.elapsed()).await;
    let together = checks.iter().zip(answers).map(|(check, answer)| {
        let answer = answer.expect("requests without a key reuse none");
        let origins = check.origins.as_deref().unwrap_or_default();
        MergedCheck::new(answer, &check.matched, origins)
    });
    Ok(together.collect())
}

/// Reads counters in one call, for the customers of a tenant. Nothing is charged or counted.
pub(crate) async fn inspect(
    state: &GateState,
    calls: &[ScriptCheck<'_>],
    caller: &Caller,
) -> Vec<Result<Answer, RedisError>> {
    redis::call(state, calls, caller).await
}

/// Answers all checks.
async fn answer<'a>(
    state: &'a GateState,
    checks: &mut [PendingCheck<'a>],
) -> Result<(), TooManyLimits> {
    admission::answer(state, checks);
    rules::answer(state, checks).await?;
    denied::answer(state, checks).await;
    leased::return_units_to_refund(state, checks).await;
    split::answer(state, checks).await;
    leased::answer(state, checks).await;
    redis::answer(state, checks).await;
    outage::answer(state, checks).await;
    Ok(())
}

#[cfg(test)]
mod tests;
