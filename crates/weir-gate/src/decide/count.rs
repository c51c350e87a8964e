//! Counts answers for metrics and statistics.

use std::time::Duration;

use weir_domain::lease::Lease;
use weir_domain::request::Operation;
use weir_trace::RequestSpan;
use weir_wire::check::CheckAnswer;

use super::pending::{KeyReused, Outcome, PendingCheck};
use super::trace;
use crate::decide::turns::Turns;
use crate::metrics::events::LeaseEvent;
use crate::requests::lease_text::LeaseText;
use crate::state::GateState;
use crate::tally::DecisionEvent;

/// Counts the answered checks for metrics and statistics, and returns their answers.
pub(super) async fn count(
    state: &GateState,
    checks: &mut [PendingCheck<'_>],
    took: Duration,
) -> Vec<Result<CheckAnswer, KeyReused>> {
    let mut turns = Turns::default();
    let mut answers = Vec::with_capacity(checks.len());
    for check in checks.iter_mut() {
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
            // Only a commit is not open, and commits are counted apart.
            Outcome::KeyReused | Outcome::NotOpen => Err(KeyReused),
        });
        turns.worked(check.limit_count()).await;
    }
    if let Some(first) = checks.first() {
        trace::decided(first, answers.iter().flatten());
    }
    answers
}

/// Counts the leases of concurrency limits that a check took.
pub(super) fn note_leases(state: &GateState, answer: &CheckAnswer) {
    state.meters.leases.count(LeaseEvent::Granted, answer.leases.len() as u64);
    for text in answer.leases.iter().filter_map(|lease| LeaseText::parse(&lease.id)) {
        let now = state.monotonic.now();
        let ends = now + Duration::from_millis(text.lease.lease_ms);
        state.open_leases.opened(text.lease.id.0, ends, now);
    }
}

/// Counts the end of a renewal or release.
pub(super) fn note_settled(state: &GateState, event: LeaseEvent, lease: &Lease) {
    state.meters.leases.count(event, 1);
    match event {
        LeaseEvent::Renewed => {
            let ends = state.monotonic.now() + Duration::from_millis(lease.lease_ms);
            state.open_leases.renewed(lease.id.0, ends);
        }
        LeaseEvent::Released | LeaseEvent::Ended => state.open_leases.closed(lease.id.0),
        LeaseEvent::Granted => {}
    }
}

/// Counts an answer for the statistics, and exports it. Peeks and cancels are not counted, nor refunds and records that admission refused: they
/// changed nothing. A commit is a record. Records are no part of the sample, because a what-if run would deny some, nor are
/// reserves, which are estimates.
pub(super) fn record(
    state: &GateState,
    check: &PendingCheck<'_>,
    answer: &CheckAnswer,
    took: Duration,
) {
    note_leases(state, answer);
    let by_admission = answer.code.is_some();
    let operation = check.request.operation();
    match operation {
        Operation::Consume | Operation::Reserve(_) => {}
        Operation::Refund | Operation::Record if !by_admission => {}
        Operation::Commit(_) if !by_admission && check.request.cost() > 0 => {}
        _ => return,
    }
    let sample = check.namespace.and_then(|namespace| namespace.sample.as_ref());
    let event = DecisionEvent {
        tenant: check.caller.tenant,
        key: check.caller.key,
        at: check.caller.at,
        request_id: check.caller.request_id,
        trace_id: check.caller.span.as_ref().map(RequestSpan::trace_id),
        took,
        known_namespace: check.namespace.is_some_and(|namespace| !namespace.rules.is_empty()),
        sample: sample.filter(|_| {
            !by_admission && matches!(operation, Operation::Consume | Operation::Refund)
        }),
        customer_attribute: check.caller.book.customer_attribute(check.caller.tenant),
        requests: check.requests,
        origins: check.origins.as_deref().unwrap_or_default(),
        matched: &check.matched,
        answer,
    };
    if let Some(reason) = event.unmatched() {
        state.meters.unmatched(reason);
    }
    state.tally.record(&event);
    if let Some(export) = state.decision_export.get() {
        export.offer(&event);
    }
}
