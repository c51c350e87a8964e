//! Records and commits that Redis did not run: into the buffer, and out of it to Redis.

use std::time::Instant;

use weir_domain::matching::Matched;
use weir_domain::request::{Operation, Request, RequestDraft};

use super::commits::{commit_request, note_committed};
use super::pending::{Failure, Outcome, PendingCheck};
use super::{redis, rules, split};
use crate::metrics::events::BufferEvent;
use crate::outage::charge_buffer::{BufferedCharge, BufferedCommit, Charge};
use crate::requests::caller::Caller;
use crate::state::GateState;

/// The result of sending a charge.
#[derive(Debug)]
pub(crate) enum SentCharge {
    /// Redis charged it, now or before.
    Charged,
    /// It cannot be charged any more: limits are off, its reservation has ended, or its counters cannot be read.
    Impossible,
    /// The reservation of a commit has ended. This charge records the cost.
    Late(Box<BufferedCharge>),
    /// Redis did not decide.
    Failed(Box<BufferedCharge>),
}

/// Buffers a record that Redis did not run. One that Redis possibly ran is buffered only with an idempotency key. Returns
/// whether it was buffered.
pub(super) fn keep_record(state: &GateState, check: &PendingCheck<'_>) -> bool {
    let Some(failure) = check.failure.filter(|_| !check.charges().is_empty()) else {
        return false;
    };
    let record = match (failure, check.request.idempotency_key()) {
        (Failure::Unreadable, _) => return false,
        (_, Some(_)) => check.request.clone(),
        (Failure::NotRun, None) => with_own_key(state, check.request),
        (Failure::PossiblyRun, None) => {
            state.meters.buffered.count(BufferEvent::Dropped, 1);
            return false;
        }
    };
    keep(state, check, failure, Charge::Record(record));
    true
}

/// Buffers a commit that Redis did not run. Returns whether it was buffered.
pub(super) fn keep_commit(
    state: &GateState,
    check: &PendingCheck<'_>,
    commit: impl FnOnce() -> BufferedCommit,
) -> bool {
    let failure = check.failure.filter(|failure| *failure != Failure::Unreadable);
    if let Some(failure) = failure {
        keep(state, check, failure, Charge::Commit(commit()));
    }
    failure.is_some()
}

fn keep(state: &GateState, check: &PendingCheck<'_>, failure: Failure, charge: Charge) {
    let possibly_run = (failure == Failure::PossiblyRun).then_some(check.started);
    let tenant = check.caller.tenant;
    let key = check.caller.key;
    let dropped = state.charge_buffer.insert(BufferedCharge { tenant, key, charge, possibly_run });
    state.meters.buffered.count(BufferEvent::Buffered, 1);
    state.meters.buffered.count(BufferEvent::Dropped, dropped as u64);
}

/// The record with a key, so that it can be repeated.
fn with_own_key(state: &GateState, request: &Request) -> Request {
    let random = u128::from_be_bytes(state.random.bytes());
    let draft = RequestDraft {
        namespace: request.namespace().to_owned(),
        attributes: request.attributes().clone(),
        cost: request.cost(),
        operation: Operation::Record,
        idempotency_key: Some(format!("buffered {random:032x}")),
    };
    Request::parse(draft).expect("the parts of a request were checked")
}

/// Sends a charge. The tenant's ceiling was applied, and the statistics counted it, when its caller sent it.
pub(crate) async fn send_charge(state: &GateState, charge: BufferedCharge) -> SentCharge {
    let Ok(book) = Caller::rulebook(state) else { return SentCharge::Failed(Box::new(charge)) };
    let tenant = charge.tenant;
    let key = charge.key;
    let at = state.clock.now();
    let caller = Caller { tenant, key, book, at, request_id: None, wait_max: None, span: None };
    if !caller.book.enforced(tenant) {
        return SentCharge::Impossible;
    }
    let request = match &charge.charge {
        Charge::Record(record) => record.clone(),
        Charge::Commit(commit) => commit_request(&commit.reservation, commit.cost),
    };
    let started = state.monotonic.at(Instant::now());
    let mut checks = [PendingCheck::new(&caller, &request, started)];
    match &charge.charge {
        Charge::Record(_) => {
            if rules::answer(state, &mut checks).await.is_err() {
                return SentCharge::Impossible;
            }
        }
        Charge::Commit(commit) => {
            let Some(charges) = commit.reservation.charges(&caller.book, tenant, at) else {
                return SentCharge::Impossible;
            };
            checks[0].matched = Matched::Charged(charges);
        }
    }
    split::answer(state, &mut checks).await;
    redis::answer(state, &mut checks).await;
    let [check] = checks;
    match check.outcome {
        Some(Outcome::Answered(_) | Outcome::Repeated(_)) => {
            if let Charge::Commit(commit) = &charge.charge {
                note_committed(state, &commit.reservation);
            }
            SentCharge::Charged
        }
        Some(Outcome::KeyReused) => SentCharge::Impossible,
        Some(Outcome::NotOpen) => late(charge),
        None => match check.failure {
            Some(Failure::Unreadable) => SentCharge::Impossible,
            Some(Failure::PossiblyRun) => {
                let possibly_run = charge.possibly_run.or(Some(started));
                SentCharge::Failed(Box::new(BufferedCharge { possibly_run, ..charge }))
            }
            Some(Failure::NotRun) | None => SentCharge::Failed(Box::new(charge)),
        },
    }
}

/// The record of a commit whose reservation is not open, unless Redis possibly ran the commit, which ends a reservation.
fn late(charge: BufferedCharge) -> SentCharge {
    if charge.possibly_run.is_some() {
        return SentCharge::Impossible;
    }
    match charge.charge {
        Charge::Commit(BufferedCommit { late: Some(record), .. }) => {
            SentCharge::Late(Box::new(BufferedCharge { charge: Charge::Record(record), ..charge }))
        }
        Charge::Commit(_) | Charge::Record(_) => SentCharge::Impossible,
    }
}
