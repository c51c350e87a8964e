//! The places in concurrency limits that a delivery holds.
//!
//! A delivery takes its places before the message is sent, and releases them when the receiver has answered or its time is
//! over. Between two deliveries a job holds no place.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use weir_domain::request::Request;
use weir_redis::deferred::TakenJob;
use weir_wire::check::CheckAnswer;
use weir_wire::limits::AlgorithmName;
use weir_wire::words::Mode;

use crate::decide::{Admission, Places, Retaken};
use crate::requests::caller::Caller;
use crate::state::GateState;

/// Pauses after the first, second, … check without a free place, in milliseconds. The last one repeats. A place becomes free
/// when another delivery ends, usually long before its lease does.
const PAUSES_MS: [u64; 5] = [250, 500, 1_000, 2_000, 4_000];
/// The longest time for which a release is repeated while Redis does not answer.
const RELEASE_FOR: Duration = Duration::from_secs(2);
const RELEASE_PAUSE: Duration = Duration::from_millis(250);
/// The shortest time between two renewals.
const RENEW_EVERY_MIN: Duration = Duration::from_millis(50);

/// No place is free, or Redis does not say.
#[derive(Debug)]
pub(super) enum NoPlace {
    /// The job is attempted again after this time.
    Denied(Duration),
    /// Redis did not answer.
    Undecided,
}

/// The places of an admitted job. An admission that another gate got before has possibly lost its places.
pub(super) async fn of_admission(
    state: &GateState,
    caller: &Caller,
    taken: &TakenJob,
    request: &Request,
    admission: &Admission,
) -> Result<Places, NoPlace> {
    let places = Places::of(&admission.answer);
    if !admission.repeated || places.shortest().is_none() {
        return Ok(places);
    }
    match places.renew(state, caller).await {
        Some(true) => Ok(places),
        Some(false) => {
            release(&places, state, caller).await;
            retake(state, caller, taken, request).await
        }
        None => Err(NoPlace::Undecided),
    }
}

/// Takes the places for the delivery of a job that was charged before.
pub(super) async fn retake(
    state: &GateState,
    caller: &Caller,
    taken: &TakenJob,
    request: &Request,
) -> Result<Places, NoPlace> {
    match Places::retake(state, caller, request).await {
        Retaken::Taken(places) => Ok(places),
        Retaken::Denied(answer) => {
            Err(NoPlace::Denied(wait_for_place(taken, &answer).unwrap_or_else(|| pause(taken))))
        }
        Retaken::Undecided => Err(NoPlace::Undecided),
    }
}

/// The wait of a job that only concurrency limits deny. `None` if another limit denies it.
pub(super) fn wait_for_place(taken: &TakenJob, answer: &CheckAnswer) -> Option<Duration> {
    let mut denying =
        answer.limits.iter().filter(|limit| limit.mode == Mode::Enforce && !limit.allowed);
    let by_places = denying.clone().next().is_some()
        && denying.all(|limit| limit.algorithm == AlgorithmName::Concurrency);
    by_places.then(|| {
        let ends = answer.retry_after_ms.map_or(Duration::MAX, Duration::from_millis);
        pause(taken).min(ends)
    })
}

/// Runs a delivery, and renews its places meanwhile.
pub(super) async fn hold<T>(
    places: &Places,
    state: &GateState,
    caller: &Caller,
    delivery: impl Future<Output = T>,
) -> T {
    let Some(shortest) = places.shortest() else { return delivery.await };
    let every = (shortest / 3).max(RENEW_EVERY_MIN);
    let renewals = async {
        loop {
            sleep(every).await;
            places.renew(state, caller).await;
        }
    };
    tokio::select! {
        done = delivery => done,
        never = renewals => never,
    }
}

/// Releases places. If Redis stays away, they are free when their leases end.
pub(super) async fn release(places: &Places, state: &GateState, caller: &Caller) {
    let began = Instant::now();
    while places.shortest().is_some() && !places.release(state, caller).await {
        if began.elapsed() > RELEASE_FOR {
            tracing::debug!("could not release the places of a deferred job");
            break;
        }
        sleep(RELEASE_PAUSE).await;
    }
}

fn pause(taken: &TakenJob) -> Duration {
    let denials = usize::try_from(taken.state.denials).unwrap_or(usize::MAX);
    Duration::from_millis(PAUSES_MS[denials.min(PAUSES_MS.len() - 1)])
}
