//! One attempt at a job: a check, unless the job was charged, and a delivery.

use std::time::Duration;

use weir_domain::id::{TenantId, WebhookId};
use weir_domain::request::{Operation, Request, RequestDraft};
use weir_redis::deferred::{Settled, TakenJob};
use weir_webhook::Message;
use weir_wire::check::CheckAnswer;

use super::deferral::Deferral;
use super::targets::OpenTarget;
use crate::caller::Caller;
use crate::decide::decide_deferred;
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
    let mut checked = None;
    if !taken.state.charged {
        match check(state, tenant, taken, left).await {
            Ok(answer) if answer.delay_ms > 0 => {
                let delay = at_most_left(Duration::from_millis(answer.delay_ms));
                return (Settled::Charged(delay), Some(answer));
            }
            Ok(answer) => checked = Some(answer),
            Err(Settled::Denied(wait)) => return (Settled::Denied(at_most_left(wait)), None),
            Err(_) => return (Settled::Undecided(at_most_left(UNDECIDED_PAUSE)), None),
        }
    }
    let Err((reason, pause)) = deliver(state, deferral, taken, &target).await else {
        return (Settled::Delivered, checked);
    };
    let pause = pause.unwrap_or_else(|| pause_after(taken, state));
    let reason = reason.chars().take(REASON_CHARS_MAX).collect();
    (Settled::Undelivered(at_most_left(pause), reason), checked)
}

/// Returns the answer that admits the job, or the wait until the next check.
async fn check(
    state: &GateState,
    tenant: TenantId,
    taken: &TakenJob,
    left: Duration,
) -> Result<CheckAnswer, Settled> {
    let undecided = || Settled::Undecided(UNDECIDED_PAUSE);
    let book = Caller::rulebook(state).map_err(|_| undecided())?;
    let key = taken.job.key.parse().map_err(|_| undecided())?;
    let at = state.clock.now();
    let caller = Caller { tenant, key, book, at, wait_max: None, span: None };
    // Each denial gives the next check a key of its own; the admission is found under the key of the check that got it.
    let draft = RequestDraft {
        namespace: taken.job.namespace.clone(),
        attributes: taken.job.attributes.clone(),
        cost: taken.job.cost,
        operation: Operation::Consume,
        idempotency_key: Some(format!("{} {}", taken.id, taken.state.denials)),
    };
    let request = Request::parse(draft).map_err(|_| undecided())?;
    let decided = decide_deferred(state, &caller, &request, left + RECORD_MARGIN).await;
    let Ok(Ok(answer)) = decided else {
        // Rules that match too many limits can be edited; a key that a caller used is never used again.
        return Err(Settled::Denied(UNCHANGED_PAUSE));
    };
    if answer.degraded.is_some() {
        // Nothing was counted. The queue is in Redis too, so the job waits until Redis answers.
        return Err(undecided());
    }
    if !answer.allowed {
        let wait = answer.retry_after_ms.map_or(UNCHANGED_PAUSE, Duration::from_millis);
        return Err(Settled::Denied(wait));
    }
    Ok(answer)
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
