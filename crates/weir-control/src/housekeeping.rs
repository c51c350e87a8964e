//! Clears away what has run out: kept answers, sessions, invitations, and gates that are long gone.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use weir_store::{Scope, StoreError};

use crate::state::ControlState;

const EVERY: Duration = Duration::from_mins(1);
/// Rows of each kind in one transaction; more wait for the next turn, which then comes at once.
const BATCH: u32 = 1000;
const GATES_KEPT: Duration = Duration::from_hours(24);

/// Sweeps every minute until told to stop. Several control planes may do so at once: each takes other rows.
pub async fn keep_house(control: ControlState, stop: CancellationToken) {
    let mut turns = tokio::time::interval(EVERY);
    turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = turns.tick() => {}
        }
        if let Err(error) = sweep(&control, &stop).await {
            tracing::warn!(%error, "could not clear away what has run out; it is tried again");
        }
    }
}

/// Everything there is to sweep now.
async fn sweep(control: &ControlState, stop: &CancellationToken) -> Result<(), StoreError> {
    while !stop.is_cancelled() {
        let mut tx = control.store.begin("housekeeping.sweep", Scope::Service).await?;
        let swept = tx.sweep().expired(control.clock.now(), BATCH).await?;
        let gates = tx.gates().forget(GATES_KEPT).await?;
        tx.commit().await?;
        if swept + gates > 0 {
            tracing::debug!(swept, gates, "cleared away what has run out");
        }
        if swept < u64::from(BATCH) {
            break;
        }
    }
    Ok(())
}
