//! Sends what is in the outbox: a few at once, each for ten seconds at most, and again with growing pauses for a day.

use std::time::Duration;

use futures_util::StreamExt as _;
use tokio_util::sync::CancellationToken;
use weir_domain::time::Timestamp;
use weir_store::{Attempted, DeliveryState, Due, Scope, Sending, StoreError};
use weir_webhook::{Attempt, Message, WebhookSecret};

use crate::state::ControlState;
use crate::webhooks::owner;

const EVERY: Duration = Duration::from_secs(1);
/// So many are sent at once.
const AT_ONCE: u32 = 16;
/// Longer than any attempt takes; what its control plane did not finish is then tried by another.
const LEASE_S: u32 = 60;
/// Pauses after the first, second, … attempt; after the last of them there is one more: a day in all.
const PAUSES_S: [u32; 10] = [5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 28_800];

/// Sends until told to stop; what is being sent then is finished.
pub async fn deliver(control: ControlState, stop: CancellationToken) {
    let mut turns = tokio::time::interval(EVERY);
    turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = turns.tick() => {}
        }
        while !stop.is_cancelled() {
            match deliver_due(&control).await {
                Ok(sent) if sent == AT_ONCE as usize => {}
                Ok(_) => break,
                Err(error) => {
                    tracing::warn!(%error, "could not look into the outbox; it is tried again");
                    break;
                }
            }
        }
    }
}

/// Sends some of what is due; how many.
pub(crate) async fn deliver_due(control: &ControlState) -> Result<usize, StoreError> {
    let mut tx = control.store.begin("deliveries.take", Scope::Service).await?;
    let due = tx.deliveries().take(control.clock.now(), LEASE_S, AT_ONCE).await?;
    tx.commit().await?;
    let taken = due.len();
    let send = |due| async move {
        if let Err(error) = send(control, due).await {
            tracing::warn!(%error, delivery = %due.id, "could not send; it is tried again");
        }
    };
    futures_util::stream::iter(due).for_each_concurrent(AT_ONCE as usize, send).await;
    Ok(taken)
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
    tx.commit().await
}

/// One attempt, or why there can be none.
async fn attempt(
    control: &ControlState,
    due: Due,
    sending: &Sending,
) -> Result<Attempt, &'static str> {
    if !sending.enabled {
        return Err("the webhook is switched off");
    }
    let now = control.clock.now();
    let owner = owner(due.tenant_id, sending.webhook_id);
    let open = |sealed: &[u8]| WebhookSecret::of_bytes(&control.sealing.open(&owner, sealed)?).ok();
    let unknown = "the secret was sealed under a signing key that is gone: rotate the secret";
    let mut secrets = vec![open(&sending.secret).ok_or(unknown)?];
    let previous = sending.previous.iter().filter(|previous| previous.expires_at > now);
    secrets.extend(previous.filter_map(|previous| open(&previous.secret)));
    let id = due.id.to_string();
    let message = Message {
        id: &id,
        timestamp_s: now.as_millis_u64() / 1000,
        body: &sending.payload,
        secrets: &secrets,
    };
    Ok(control.sender.send(&sending.url, &message).await)
}

/// What comes of an attempt, and when the next one is.
fn attempted(
    control: &ControlState,
    sending: &Sending,
    attempt: Result<Attempt, &'static str>,
) -> Attempted {
    let now = control.clock.now();
    let (attempt, pause_s) = match attempt {
        Ok(attempt) => (attempt, PAUSES_S.get(sending.attempts as usize)),
        Err(why) => {
            let error = Some(why.to_owned());
            (Attempt { status: None, response: String::new(), error, took_ms: 0 }, None)
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

/// A fifth sooner or later, so that what failed together does not come back together.
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
