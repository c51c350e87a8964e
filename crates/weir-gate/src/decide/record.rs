//! The pipeline for records: that of checks, then the buffer if Redis did not run the record.

use std::time::Instant;

use weir_domain::request::Request;
use weir_wire::check::CheckAnswer;

use super::pending::{KeyReused, PendingCheck};
use super::reservation::Refused;
use super::rules::TooManyLimits;
use super::{answer, buffered, count};
use crate::requests::caller::Caller;
use crate::state::GateState;

/// The answer to a record.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) answer: CheckAnswer,
    /// Whether the gate holds the record until Redis returns.
    pub(crate) buffered: bool,
}

/// Charges a record and counts it. If Redis does not run it, it is buffered.
pub(crate) async fn record(
    state: &GateState,
    caller: &Caller,
    request: &Request,
) -> Result<Recorded, Refused> {
    let started = Instant::now();
    let mut checks = [PendingCheck::new(caller, request, state.monotonic.at(started))];
    answer(state, &mut checks).await.map_err(|TooManyLimits(_)| Refused::TooManyLimits)?;
    let buffered = buffered::keep_record(state, &checks[0]);
    let mut answers = count::count(state, &mut checks, started.elapsed()).await;
    let answer = answers.pop().expect("one record has one answer");
    Ok(Recorded { answer: answer.map_err(|KeyReused| Refused::KeyReused)?, buffered })
}
