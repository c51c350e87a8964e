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
    admission::answer(state, &mut checks);
    rules::answer(state, &mut checks).await?;
    denied::answer(state, &mut checks);
    leased::return_units_to_refund(state, &checks).await;
    split::answer(state, &mut checks).await;
    leased::answer(state, &mut checks).await;
    redis::answer(state, &mut checks).await;
    outage::answer(state, &mut checks);
    Ok(count(state, checks, started.elapsed()).await)
}

/// Counts the answered checks for metrics and statistics, and returns their answers.
async fn count(
    state: &GateState,
    checks: Vec<PendingCheck<'_>>,
    took: Duration,
) -> Vec<Result<CheckAnswer, KeyReused>> {
    let mut turns = Turns::default();
    let mut answers = Vec::with_capacity(checks.len());
    for mut check in checks {
        let outcome = check.outcome.take().expect("the outage stage answers every check");
        answers.push(match outcome {
            Outcome::Answered(answer) => {
                state.meters.decided(check.request.operation(), &answer, took);
                record(state, &check, &answer, took);
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
        request: check.request,
        matched: &check.matched,
        answer,
    });
}

#[cfg(test)]
mod tests;
