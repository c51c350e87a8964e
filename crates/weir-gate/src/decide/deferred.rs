//! The check of a deferred job, and the order in which jobs wait.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use weir_domain::request::Request;
use weir_wire::check::CheckAnswer;

use super::pending::{KeyReused, Outcome, PendingCheck};
use super::rules::{self, TooManyLimits};
use super::{answer, count};
use crate::requests::caller::Caller;
use crate::state::GateState;

/// The decision of a deferred job.
#[derive(Debug)]
pub(crate) struct Admission {
    pub(crate) answer: CheckAnswer,
    /// Whether the job was admitted before. The leases of the answer have possibly ended since.
    pub(crate) repeated: bool,
}

/// Decides a deferred job and counts the check. Redis records an admission for the time `admitted_for`: the same request is
/// admitted again meanwhile and charged once.
pub(crate) async fn decide_deferred(
    state: &GateState,
    caller: &Caller,
    request: &Request,
    admitted_for: Duration,
) -> Result<Result<Admission, KeyReused>, TooManyLimits> {
    let started = Instant::now();
    let check = PendingCheck::new(caller, request, state.monotonic.at(started));
    let mut checks = [PendingCheck { recorded_for: admitted_for, ..check }];
    answer(state, &mut checks).await?;
    let repeated =
        matches!(&checks, [check] if matches!(check.outcome, Some(Outcome::Repeated(_))));
    let mut answers = count::count(state, &mut checks, started.elapsed()).await;
    let answer = answers.pop().expect("one check has one answer");
    Ok(answer.map(|answer| Admission { answer, repeated }))
}

/// A digest that is equal for jobs that count the same subjects, which are attempted one after the other. Without enforced
/// limits, jobs with the same attributes are.
pub(crate) async fn order_of(
    state: &GateState,
    caller: &Caller,
    request: &Request,
) -> Result<u128, TooManyLimits> {
    let now = state.monotonic.at(Instant::now());
    let mut checks = [PendingCheck::new(caller, request, now)];
    rules::answer(state, &mut checks).await?;
    let [check] = checks;
    let enforced = check.charges().iter().filter(|charge| !charge.is_alone());
    let subjects: BTreeSet<u128> = enforced.map(|charge| charge.subject.0).collect();
    let mut digest = Sha256::new();
    digest.update(request.namespace());
    for subject in &subjects {
        digest.update(subject.to_be_bytes());
    }
    if subjects.is_empty() {
        for (name, value) in request.attributes() {
            digest.update(format!("\0{name}\0{value}"));
        }
    }
    let digest: [u8; 32] = digest.finalize().into();
    let (half, _) = digest.split_first_chunk().expect("a digest has 32 bytes");
    Ok(u128::from_be_bytes(*half))
}
