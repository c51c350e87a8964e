//! One attempt at a job: a check, unless the job was charged, and a delivery.

use std::time::Duration;

use weir_domain::id::{TenantId, WebhookId};
use weir_domain::request::{Operation, Request, RequestDraft};
use weir_redis::deferred::{Settled, TakenJob};
use weir_webhook::Message;
use weir_wire::check::CheckAnswer;

use super::deferral::Deferral;
use super::places::{self, NoPlace};
use super::targets::OpenTarget;
use crate::decide::{Places, decide_deferred};
use crate::requests::caller::Caller;
use crate::state::GateState;

/// Pauses after the first, second, … failed delivery, in seconds. The last one repeats.
const PAUSES_S: [u64; 7] = [1, 2, 5, 10, 30, 60, 120];
/// The pause if the job can never pass the present rules, or its webhook is switched off. Either can change.
const UNCHANGED_PAUSE: Duration = Duration::from_mins(1);
/// The pause if Redis, Postgres or the rulebook did not answer.
const UNDECIDED_PAUSE: Duration = Duration::from_secs(1);
/// The admission of a job is recorded longer than the job can wait, by as much as an attempt can take.
const RECORD_MARGIN: Duration = Duration::from_mins(1);
/// The most characters of a reason that is stored.
const REASON_CHARS_MAX: usize = 300;

/// Makes an attempt. Returns its result, and the answer of the check if one was made.
pub(super) async fn attempt(
    state: &GateState,
    deferral: &Deferral,
    tenant: TenantId,
    taken: &TakenJob,
) -> (Settled, Option<CheckAnswer>) {
    let left = Duration::from_millis(taken.state.ends_ms.saturating_sub(taken.now_ms));
    if left.is_zero() {
        let reason = taken.state.error.as_deref().unwrap_or("the limits did not permit it");
        return (Settled::Failed(format!("not delivered in time: {reason}")), None);
    }
    let at_most_left = |wait: Duration| wait.clamp(Duration::from_millis(1), left);
    let Ok(target) = taken.job.target.parse::<WebhookId>() else {
        return (Settled::Failed("the webhook is unknown".to_owned()), None);
    };
    // Before the check, so that nothing is charged for a job without a receiver.
    let target = match deferral.targets.find(tenant, target).await {
        Ok(Some(target)) => target,
        Ok(None) => return (Settled::Failed("the webhook was deleted".to_owned()), None),
        Err(_) => return (Settled::Undecided(at_most_left(UNDECIDED_PAUSE)), None),
    };
    let Some((caller, request)) = asked(state, tenant, taken) else {
        return (Settled::Undecided(at_most_left(UNDECIDED_PAUSE)), None);
    };
    let admitted = match admit(state, &caller, &request, taken, left).await {
        Ok(admitted) => admitted,
        Err(NotAdmitted::Denied(wait)) => return (Settled::Denied(at_most_left(wait)), None),
        Err(NotAdmitted::Later(wait)) => return (Settled::Charged(at_most_left(wait)), None),
        Err(NotAdmitted::Undecided) => {
            return (Settled::Undecided(at_most_left(UNDECIDED_PAUSE)), None);
        }
    };
    let Admitted { places, answer } = admitted;
    let delivery = deliver(state, deferral, taken, &target);
    let delivered = places::hold(&places, state, &caller, delivery).await;
    places::release(&places, state, &caller).await;
    let Err((reason, pause)) = delivered else { return (Settled::Delivered, answer) };
    let pause = pause.unwrap_or_else(|| pause_after(taken, state));
    let reason = reason.chars().take(REASON_CHARS_MAX).collect();
    (Settled::Undelivered(at_most_left(pause), reason), answer)
}

/// A job that can be sent now.
struct Admitted {
    places: Places,
    /// The answer of the check, if one was made. The leases that this gate holds are no part of it.
    answer: Option<CheckAnswer>,
}

/// A job that cannot be sent now.
enum NotAdmitted {
    /// The limits denied it, for this time.
    Denied(Duration),
    /// It was charged, and is sent after this time.
    Later(Duration),
    /// No limit was decided.
    Undecided,
}

impl From<NoPlace> for NotAdmitted {
    /// Of a job that was charged.
    fn from(reason: NoPlace) -> Self {
        match reason {
            NoPlace::Denied(wait) => Self::Later(wait),
            NoPlace::Undecided => Self::Undecided,
        }
    }
}

/// Checks a job, unless it was charged before, and takes its places in concurrency limits.
async fn admit(
    state: &GateState,
    caller: &Caller,
    request: &Request,
    taken: &TakenJob,
    left: Duration,
) -> Result<Admitted, NotAdmitted> {
    if taken.state.charged {
        let places = places::retake(state, caller, taken, request).await?;
        return Ok(Admitted { places, answer: None });
    }
    let decided = decide_deferred(state, caller, request, left + RECORD_MARGIN).await;
    let Ok(Ok(mut admission)) = decided else {
        // Rules that match too many limits can be edited; a key that a caller used is never used again.
        return Err(NotAdmitted::Denied(UNCHANGED_PAUSE));
    };
    let answer = &admission.answer;
    if answer.degraded.is_some() {
        // Nothing was counted. The queue is in Redis too, so the job waits until Redis answers.
        return Err(NotAdmitted::Undecided);
    }
    if !answer.allowed {
        let wait = places::wait_for_place(taken, answer)
            .or(answer.retry_after_ms.map(Duration::from_millis));
        return Err(NotAdmitted::Denied(wait.unwrap_or(UNCHANGED_PAUSE)));
    }
    if answer.delay_ms > 0 {
        let delay = Duration::from_millis(answer.delay_ms);
        places::release(&Places::of(answer), state, caller).await;
        return Err(NotAdmitted::Later(delay));
    }
    let places = places::of_admission(state, caller, taken, request, &admission).await?;
    admission.answer.leases.clear();
    Ok(Admitted { places, answer: Some(admission.answer) })
}

/// The caller and the request of the checks of a job. `None` if the rulebook cannot be used now.
fn asked(state: &GateState, tenant: TenantId, taken: &TakenJob) -> Option<(Caller, Request)> {
    let book = Caller::rulebook(state).ok()?;
    let key = taken.job.key.parse().ok()?;
    let at = state.clock.now();
    let caller = Caller { tenant, key, book, at, request_id: None, wait_max: None, span: None };
    // Each denial gives the next check a key of its own; the admission is found under the key of the check that got it.
    let draft = RequestDraft {
        namespace: taken.job.namespace.clone(),
        attributes: taken.job.attributes.clone(),
        cost: taken.job.cost,
        operation: Operation::Consume,
        idempotency_key: Some(format!("{} {}", taken.id, taken.state.denials)),
    };
    Some((caller, Request::parse(draft).ok()?))
}

/// Sends the job. Returns the reason why it did not arrive, and the pause if it is not the usual one.
async fn deliver(
    state: &GateState,
    deferral: &Deferral,
    taken: &TakenJob,
    target: &OpenTarget,
) -> Result<(), (String, Option<Duration>)> {
    if !target.enabled {
        return Err(("the webhook is switched off".to_owned(), Some(UNCHANGED_PAUSE)));
    }
    let now = state.clock.now();
    let secrets = target.secrets(now);
    if secrets.is_empty() {
        let reason =
            "the secret of the webhook was sealed under a key that this gate does not have";
        return Err((reason.to_owned(), Some(UNCHANGED_PAUSE)));
    }
    let id = taken.id.to_string();
    let message = Message {
        id: &id,
        timestamp_s: now.as_millis_u64() / 1000,
        body: &taken.job.message,
        secrets: &secrets,
    };
    let attempt = deferral.sender.send(&target.url, &message).await;
    if attempt.succeeded() {
        return Ok(());
    }
    let status = attempt.status.map(|status| format!("the receiver answered {status}"));
    Err((status.or(attempt.error).unwrap_or_else(|| "no answer".to_owned()), None))
}

/// The pause after a failed delivery. It varies by a fifth, so that failed deliveries do not repeat at the same moment.
fn pause_after(taken: &TakenJob, state: &GateState) -> Duration {
    let at = usize::try_from(taken.state.attempts).unwrap_or(usize::MAX).min(PAUSES_S.len() - 1);
    let [random] = state.random.bytes::<1>();
    Duration::from_millis(PAUSES_S[at] * 10 * (80 + u64::from(random) * 40 / 255))
}
