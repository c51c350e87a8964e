//! Sends buffered records and commits when Redis returns.
//!
//! Redis possibly ran a charge whose call had no answer. Such a charge is repeated only with its idempotency key, and only
//! while Redis would recognise it; otherwise it is dropped and counted. So no charge is made twice.

use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::decide::{SentCharge, send_charge};
use crate::metrics::events::BufferEvent;
use crate::state::GateState;

/// The task that sends the charges of one gate.
#[derive(Debug)]
pub struct ChargeSender(GateState);

const EVERY: Duration = Duration::from_millis(250);
/// The most charges that are sent at once.
const AT_ONCE: usize = 64;
/// The longest time for which a gate that stops tries to send its charges.
const LAST_DEADLINE: Duration = Duration::from_secs(3);

impl ChargeSender {
    /// A sender of this gate's charges.
    pub fn new(state: GateState) -> Self {
        Self(state)
    }

    /// Sends charges until the gate has `drained`, then the last ones.
    pub async fn run(self, drained: CancellationToken) {
        let Self(state) = self;
        let mut turns = tokio::time::interval(EVERY);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while drained.run_until_cancelled(turns.tick()).await.is_some() {
            send_all(&state).await;
        }
        let deadline = Instant::now() + LAST_DEADLINE;
        while state.charge_buffer.len() > 0 && Instant::now() < deadline {
            send_all(&state).await;
            turns.tick().await;
        }
        let lost = state.charge_buffer.len();
        if lost > 0 {
            state.meters.buffered.count(BufferEvent::Dropped, lost as u64);
            tracing::warn!(charges = lost, "could not send buffered charges to Redis");
        }
    }
}

/// Sends charges until none is left or Redis does not run one.
pub(crate) async fn send_all(state: &GateState) {
    loop {
        let charges = state.charge_buffer.take(AT_ONCE);
        if charges.is_empty() {
            return;
        }
        let now = state.monotonic.now();
        let (charges, over): (Vec<_>, Vec<_>) =
            charges.into_iter().partition(|charge| charge.is_repeatable(now));
        state.meters.buffered.count(BufferEvent::Dropped, over.len() as u64);
        let sends = charges.into_iter().map(|charge| send_charge(state, charge));
        let mut back = Vec::new();
        let mut is_away = false;
        for sent in futures_util::future::join_all(sends).await {
            match sent {
                SentCharge::Charged => state.meters.buffered.count(BufferEvent::Sent, 1),
                SentCharge::Impossible => state.meters.buffered.count(BufferEvent::Dropped, 1),
                SentCharge::Late(charge) => back.push(*charge),
                SentCharge::Failed(charge) => {
                    is_away = true;
                    back.push(*charge);
                }
            }
        }
        let dropped = state.charge_buffer.put_back(back);
        state.meters.buffered.count(BufferEvent::Dropped, dropped as u64);
        if is_away {
            return;
        }
    }
}
