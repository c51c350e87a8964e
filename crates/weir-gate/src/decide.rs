//! The decision pipeline: admission → rules → denial cache → split checks → leases → Redis → outage.
//!
//! All stages have the same shape. A stage takes the checks of a request, answers those pending ones that it can, and leaves
//! the others pending for the next stage. The checks of a batch stay in order, and Redis decides them in one call.

mod admission;
mod denied;
mod leased;
mod outage;
mod pending;
mod redis;
mod rules;
mod split;

use std::time::{Duration, Instant};

use weir_domain::request::{Operation, Request};
use weir_wire::check::CheckAnswer;

use self::pending::{Outcome, PendingCheck};
use crate::caller::Caller;
use crate::state::GateState;
use crate::tally::DecisionEvent;
use crate::together::Together;
use crate::turns::Turns;

pub(crate) use self::pending::KeyReused;
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
    Ok(count(state, &mut checks, started.elapsed()).await)
}

/// Decides checks of several requests in order, and counts them. Each check is charged as a whole or not. Its first request
/// consumes, if any does. Takes nothing if one of the checks matches too many limits, or counters at too many places.
pub(crate) async fn decide_together(
    state: &GateState,
    caller: &Caller,
    calls: &[Vec<Request>],
) -> Result<Vec<Together>, TooManyLimits> {
    let started = Instant::now();
    let now = state.monotonic.at(started);
    let each = calls.iter().map(|requests| PendingCheck::of_several(caller, requests, now));
    let mut checks: Vec<_> = each.collect();
    answer(state, &mut checks).await?;
    let answers = count(state, &mut checks, started.elapsed()).await;
    let together = checks.iter().zip(answers).map(|(check, answer)| {
        let answer = answer.expect("requests without a key reuse none");
        let origins = check.origins.as_deref().unwrap_or_default();
        Together::new(answer, &check.matched, origins)
    });
    Ok(together.collect())
}

/// Answers all checks.
async fn answer<'a>(
    state: &'a GateState,
    checks: &mut [PendingCheck<'a>],
) -> Result<(), TooManyLimits> {
    admission::answer(state, checks);
    rules::answer(state, checks).await?;
    denied::answer(state, checks);
    leased::return_units_to_refund(state, checks).await;
    split::answer(state, checks).await;
    leased::answer(state, checks).await;
    redis::answer(state, checks).await;
    outage::answer(state, checks);
    Ok(())
}

/// Counts the answered checks for metrics and statistics, and returns their answers.
async fn count(
    state: &GateState,
    checks: &mut [PendingCheck<'_>],
    took: Duration,
) -> Vec<Result<CheckAnswer, KeyReused>> {
    let mut turns = Turns::default();
    let mut answers = Vec::with_capacity(checks.len());
    for check in checks {
        let outcome = check.outcome.take().expect("the outage stage answers every check");
        answers.push(match outcome {
            Outcome::Answered(answer) => {
                state.meters.decided(check.request.operation(), &answer, took);
                record(state, check, &answer, took);
                Ok(answer)
            }
            // The statistics count the first answer alone.
            Outcome::Repeated(answer) => {
                state.meters.decided(check.request.operation(), &answer, took);
                Ok(answer)
            }
            Outcome::KeyReused => Err(KeyReused),
        });
        turns.worked(check.limit_count()).await;
    }
    answers
}

/// Counts an answer for the statistics. Peeks are not counted, nor refunds and records that admission refused: they changed
/// nothing. Records are no part of the sample, because a what-if run would deny some.
fn record(state: &GateState, check: &PendingCheck<'_>, answer: &CheckAnswer, took: Duration) {
    let by_admission = answer.code.is_some();
    let operation = check.request.operation();
    match operation {
        Operation::Consume => {}
        Operation::Refund | Operation::Record if !by_admission => {}
        _ => return,
    }
    let sample = check.namespace.and_then(|namespace| namespace.sample.as_ref());
    state.tally.record(&DecisionEvent {
        tenant: check.caller.tenant,
        key: check.caller.key,
        at: check.caller.at,
        took,
        known_namespace: check.namespace.is_some_and(|namespace| !namespace.rules.is_empty()),
        sample: sample.filter(|_| !by_admission && operation != Operation::Record),
        requests: check.requests,
        origins: check.origins.as_deref().unwrap_or_default(),
        matched: &check.matched,
        answer,
    });
}

#[cfg(test)]
mod tests;
