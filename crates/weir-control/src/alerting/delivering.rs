//! Sends webhooks from the outbox: up to 64 at once and 4 of one tenant. An attempt takes ten seconds at most, and failed
//! messages are retried with growing pauses for a day. A slow receiver occupies only the places of its own tenant.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use weir_domain::id::DeliveryId;
use weir_domain::time::Timestamp;
use weir_domain::webhook::WebhookKind;
use weir_store::{Attempted, DeliveryState, Due, NewDelivery, Scope, Sending, StoreError};
use weir_webhook::Attempt;

use crate::alerting::attempting::attempt;
use crate::alerting::message::TEST;
use crate::alerting::outgoing;
use crate::meters::BackgroundTask;
use crate::state::ControlState;

const EVERY: Duration = Duration::from_secs(1);
/// The most attempts under way at once, of all tenants and of one.
const AT_ONCE: usize = 64;
const AT_ONCE_PER_TENANT: u32 = 4;
/// The time for which a control plane owns a delivery. It is longer than any attempt. When it is over, another control plane
/// can try the delivery.
const LEASE_S: u32 = 60;
/// Pauses after the first, second, … attempt, in seconds. One more attempt follows the last. They add up to a day.
const PAUSES_S: [u32; 10] = [5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 28_800];

/// Sends messages until `stop`, and finishes attempts in progress.
pub async fn deliver(control: ControlState, stop: CancellationToken) {
    control.meters().succeeded(BackgroundTask::Deliveries, control.clock.now());
    let mut turns = tokio::time::interval(EVERY);
    turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut sending = JoinSet::new();
    let mut more = false;
    while !stop.is_cancelled() {
        tokio::select! {
            () = stop.cancelled() => break,
            _ = turns.tick() => {}
            Some(_) = sending.join_next(), if more => {}
        }
        while sending.try_join_next().is_some() {}
        let room = AT_ONCE - sending.len();
        more = match take(&control, room).await {
            Ok(due) => {
                control.meters().succeeded(BackgroundTask::Deliveries, control.clock.now());
                let more = !due.is_empty();
                for due in due {
                    sending.spawn(send_or_log(control.clone(), due));
                }
                more
            }
            Err(error) => {
                let reason = error.reason();
                tracing::warn!(reason, "could not read the outbox; will retry");
                false
            }
        };
    }
    while sending.join_next().await.is_some() {}
}

/// Takes up to `room` due deliveries. This control plane owns each for the time of the lease.
async fn take(control: &ControlState, room: usize) -> Result<Vec<Due>, StoreError> {
    if room == 0 {
        return Ok(Vec::new());
    }
    let most = u32::try_from(room).unwrap_or(u32::MAX);
    let mut tx = control.store.begin("deliveries.take", Scope::Service).await?;
    let now = control.clock.now();
    let due = tx.deliveries().take(now, LEASE_S, most, AT_ONCE_PER_TENANT).await?;
    tx.commit().await?;
    Ok(due)
}

/// Sends some due deliveries and waits for them. Returns the number of attempts.
#[cfg(test)]
pub(crate) async fn deliver_due(control: &ControlState) -> Result<usize, StoreError> {
    let due = take(control, AT_ONCE).await?;
    let taken = due.len();
    let sends = due.into_iter().map(|due| send_or_log(control.clone(), due));
    futures_util::future::join_all(sends).await;
    Ok(taken)
}

async fn send_or_log(control: ControlState, due: Due) {
    if let Err(error) = send(&control, due).await {
        let reason = error.reason();
        tracing::warn!(reason, delivery = %due.id, "could not send a delivery; will retry");
    }
}

async fn send(control: &ControlState, due: Due) -> Result<(), StoreError> {
    let scope = Scope::Tenant(due.tenant_id);
    let mut tx = control.store.begin("deliveries.sending", scope.clone()).await?;
    let Some(sending) = tx.deliveries().sending(due).await? else { return Ok(()) };
    drop(tx);
    let attempt = attempt(control, due, &sending).await;
    let attempted = attempted(control, &sending, attempt);
    control.meters().delivered(attempted.state);
    let mut tx = control.store.begin("deliveries.attempted", scope).await?;
    tx.deliveries().attempted(due, &attempted).await?;
    if let Some(new) = end_of_test(control, due, &sending, attempted.state) {
        tx.deliveries().insert(&new).await?;
    }
    tx.commit().await
}

/// The delivery that ends the incident of a test of PagerDuty, once it is there.
fn end_of_test(
    control: &ControlState,
    due: Due,
    sending: &Sending,
    state: DeliveryState,
) -> Option<NewDelivery> {
    let is_test = sending.webhook_kind == WebhookKind::Pagerduty && sending.kind == TEST;
    if !is_test || state != DeliveryState::Delivered {
        return None;
    }
    Some(NewDelivery {
        id: control.id(DeliveryId::new),
        tenant_id: due.tenant_id,
        webhook_id: sending.webhook_id,
        kind: TEST,
        payload: outgoing::end_of_test(&sending.payload)?,
        now: control.clock.now(),
    })
}

/// The result of an attempt, and the time of the next one.
fn attempted(
    control: &ControlState,
    sending: &Sending,
    attempt: Result<Attempt, String>,
) -> Attempted {
    let now = control.clock.now();
    let (attempt, pause_s) = match attempt {
        Ok(attempt) => (attempt, PAUSES_S.get(sending.attempts as usize)),
        Err(why) => {
            (Attempt { status: None, response: String::new(), error: Some(why), took_ms: 0 }, None)
        }
    };
    let (state, next_at) = match pause_s {
        _ if attempt.succeeded() => (DeliveryState::Delivered, now),
        Some(pause_s) => (DeliveryState::Pending, after(*pause_s, control.random.bytes(), now)),
        None => (DeliveryState::Failed, now),
    };
    Attempted {
        state,
        next_at,
        now,
        response_status: attempt.status,
        response: attempt.status.map(|_| attempt.response),
        error: attempt.error,
        took_ms: attempt.took_ms,
    }
}

/// The time after a pause. It varies by a fifth, so that failed deliveries do not repeat at the same moment.
fn after(pause_s: u32, [random]: [u8; 1], now: Timestamp) -> Timestamp {
    let percent = 80 + i64::from(random) * 40 / 255;
    now.plus_ms(i64::from(pause_s) * 10 * percent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_take_about_a_day_and_differ_by_a_fifth() {
        let all_s: u32 = PAUSES_S.iter().sum();
        assert!((23 * 3600..25 * 3600).contains(&all_s), "{all_s}");
        let now = Timestamp::from_millis(0);
        let ms = |random| after(10, [random], now).as_millis();
        assert_eq!([ms(0), ms(255)], [8_000, 12_000]);
        assert!((9_900..=10_100).contains(&ms(127)));
    }
}
