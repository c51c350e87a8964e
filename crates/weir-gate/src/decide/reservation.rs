//! The pipeline for reserves and commits: admission → rules → Redis → outage.
//!
//! Neither is answered from leases or cached denials. A commit knows its rules from the text of the reservation.

use std::slice;
use std::time::{Duration, Instant};

use weir_domain::matching::Matched;
use weir_domain::request::{Operation, Request};
use weir_domain::reservation::Settlement;
use weir_domain::time::{Micros, Timestamp};
use weir_wire::check::{CheckAnswer, Degraded, RecordAnswer};

use super::commits::{commit_request, note_committed};
use super::pending::{Outcome, PendingCheck};
use super::rules::{self, TooManyLimits};
use super::{admission, buffered, count, outage, redis, trace};
use crate::metrics::events::ReservationEvent;
use crate::outage::charge_buffer::BufferedCommit;
use crate::requests::caller::Caller;
use crate::requests::reservation_text::ReservationText;
use crate::state::GateState;

/// A reserve or commit without an answer.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The request matches too many limits.
    TooManyLimits,
    /// The counters are at two places: some are spread by values of the request, and others are not.
    Split,
    /// The idempotency key was used for another request, or the reservation was committed with another cost.
    KeyReused,
    /// The reservation is not open.
    NotOpen,
}

/// The answer to a reserve.
#[derive(Debug)]
pub(crate) struct Reserved {
    pub(crate) answer: CheckAnswer,
    /// The reservation, if the reserve was admitted.
    pub(crate) reservation: Option<ReservationText>,
}

/// The answer to a commit.
#[derive(Debug)]
pub(crate) struct Committed {
    pub(crate) charged: u64,
    pub(crate) released: u64,
    pub(crate) degraded: Option<Degraded>,
    /// Whether the gate holds the commit until Redis returns.
    pub(crate) buffered: bool,
    /// The answer of admission, which refused the commit.
    pub(crate) over_ceiling: Option<CheckAnswer>,
}

/// Decides a reserve and counts it.
pub(crate) async fn reserve(
    state: &GateState,
    caller: &Caller,
    request: &Request,
) -> Result<Reserved, Refused> {
    let Operation::Reserve(reserve) = request.operation() else { return Err(Refused::NotOpen) };
    let started = Instant::now();
    let mut checks = [PendingCheck::new(caller, request, state.monotonic.at(started))];
    admission::answer(state, &mut checks);
    rules::answer(state, &mut checks).await.map_err(|TooManyLimits(_)| Refused::TooManyLimits)?;
    let [check] = &mut checks;
    if check.is_split() {
        return Err(Refused::Split);
    }
    let text = ReservationText::new(reserve.id, request, check.charges(), caller.at);
    check.reservation = Some(text.to_text());
    redis::answer(state, &mut checks).await;
    outage::answer(state, &mut checks).await;
    let [mut check] = checks;
    let (answer, is_first) = counted(state, &mut check, started)?;
    let text = check.reservation.as_deref().and_then(ReservationText::parse);
    let reservation = text.filter(|_| answer.allowed).map(|text| {
        let (units, ends) = match check.settlement {
            Some(Settlement::Held { units, ends }) => (units, ends),
            _ => (request.cost(), after(caller.at, reserve.ttl_ms)),
        };
        ReservationText { units, ends, degraded: answer.degraded, ..text }
    });
    if is_first && check.settlement.is_some() && reservation.is_some() {
        state.meters.reservations.count(ReservationEvent::Reserved, 1);
        let now = state.monotonic.now();
        let ends = now + Duration::from_millis(reserve.ttl_ms);
        state.open_reservations.opened(reserve.id.0, ends, now);
    }
    Ok(Reserved { answer, reservation })
}

/// Lets the matching limits count as exhausted.
pub(crate) async fn exhaust(
    state: &GateState,
    caller: &Caller,
    request: &Request,
) -> Result<CheckAnswer, Refused> {
    let started = Instant::now();
    let mut checks = [PendingCheck::new(caller, request, state.monotonic.at(started))];
    admission::answer(state, &mut checks);
    rules::answer(state, &mut checks).await.map_err(|TooManyLimits(_)| Refused::TooManyLimits)?;
    if checks[0].is_split() {
        return Err(Refused::Split);
    }
    redis::answer(state, &mut checks).await;
    outage::answer(state, &mut checks).await;
    let [mut check] = checks;
    // It is no check: neither the statistics nor the metrics of checks count it.
    match check.outcome.take().expect("the outage stage answers every check") {
        Outcome::Answered(answer) | Outcome::Repeated(answer) => Ok(answer),
        Outcome::KeyReused => Err(Refused::KeyReused),
        Outcome::NotOpen => Err(Refused::NotOpen),
    }
}

/// Charges the cost of a reservation and releases its units. If Redis does not run it, it is buffered, with the request that
/// records the cost if the reservation is no longer open.
pub(crate) async fn commit(
    state: &GateState,
    caller: &Caller,
    reservation: &ReservationText,
    cost: u64,
    late: Option<&Request>,
) -> Result<Committed, Refused> {
    let started = Instant::now();
    let charges = reservation.charges(&caller.book, caller.tenant, caller.at);
    let charges = charges.ok_or(Refused::TooManyLimits)?;
    let none = Committed {
        charged: 0,
        released: 0,
        degraded: reservation.degraded,
        buffered: false,
        over_ceiling: None,
    };
    if charges.is_empty() && !reservation.has_rules() {
        return Ok(none);
    }
    let request = commit_request(reservation, cost);
    let mut checks = [PendingCheck::new(caller, &request, state.monotonic.at(started))];
    checks[0].matched = Matched::Charged(charges);
    admission::answer(state, &mut checks);
    redis::answer(state, &mut checks).await;
    let commit = || BufferedCommit { reservation: reservation.clone(), cost, late: late.cloned() };
    let buffered = buffered::keep_commit(state, &checks[0], commit);
    outage::answer(state, &mut checks).await;
    let [mut check] = checks;
    let (answer, is_first) = counted(state, &mut check, started)?;
    if answer.code.is_some() {
        return Ok(Committed { over_ceiling: Some(answer), ..none });
    }
    if let Some(Settlement::Released { units, charged }) = check.settlement {
        note_committed(state, reservation);
        if is_first {
            let cancels = charged == 0;
            let event =
                if cancels { ReservationEvent::Cancelled } else { ReservationEvent::Committed };
            state.meters.reservations.count(event, 1);
        }
        return Ok(Committed { charged, released: units.saturating_sub(charged), ..none });
    }
    // A reservation that nothing holds, or no answer of Redis.
    let degraded = answer.degraded.or(none.degraded);
    let charged = RecordAnswer::new(cost, answer, buffered).charged;
    Ok(Committed { charged, degraded, buffered, ..none })
}

/// Counts the answer for metrics and statistics. Returns it, and whether it is the first one to the same request.
fn counted(
    state: &GateState,
    check: &mut PendingCheck<'_>,
    started: Instant,
) -> Result<(CheckAnswer, bool), Refused> {
    let took = started.elapsed();
    match check.outcome.take().expect("the outage stage answers every check") {
        Outcome::Answered(answer) => {
            state.meters.decided(check.request.operation(), &answer, took);
            count::record(state, check, &answer, took);
            trace::decided(check, slice::from_ref(&answer).iter());
            Ok((answer, true))
        }
        // The statistics count the first answer alone.
        Outcome::Repeated(answer) => {
            state.meters.decided(check.request.operation(), &answer, took);
            trace::decided(check, slice::from_ref(&answer).iter());
            Ok((answer, false))
        }
        Outcome::KeyReused => Err(Refused::KeyReused),
        Outcome::NotOpen => Err(Refused::NotOpen),
    }
}

/// The end of a reservation that nothing holds.
fn after(now: Timestamp, ttl_ms: u64) -> Micros {
    Micros::from_ms(now.as_millis_u64() + ttl_ms)
}
