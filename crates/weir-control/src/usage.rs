//! The usage of tenants: samples Redis, counts rows, and writes one row for each tenant and day.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use weir_redis::Client;
use weir_redis::usage::KeysOfTenant;
use weir_store::{RedisUsage, Scope, Store, StoreError};

use crate::meters::BackgroundTask;
use crate::state::ControlState;

/// The interval of roll-ups of checks.
const ROLL_UP_EVERY: Duration = Duration::from_mins(10);
/// The number of roll-ups for one sample of Redis and one count of rows. The first roll-up includes them.
const SAMPLE_EVERY: u32 = 6;
/// The number of keys in one sample.
const KEYS: usize = 2_000;
/// The number of days for which usage is retained.
const DAYS: u16 = 1_100;

/// The longest time of one statement, which counts the rows of all tenants.
const STATEMENT_DEADLINE: Duration = Duration::from_mins(2);

/// Records usage until `stop`. Several control planes can do so at once, because each writes the same values.
pub async fn keep_usage(control: ControlState, redis: Client, stop: CancellationToken) {
    control.meters().succeeded(BackgroundTask::Usage, control.clock.now());
    let mut turns = tokio::time::interval(ROLL_UP_EVERY);
    turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for turn in 0_u32.. {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = turns.tick() => {}
        }
        let store = control.store.with_answer_timeout(STATEMENT_DEADLINE);
        if turn.is_multiple_of(SAMPLE_EVERY) {
            sample(&control, &store, &redis).await;
        }
        match roll_up(&store).await {
            Ok(()) => control.meters().succeeded(BackgroundTask::Usage, control.clock.now()),
            Err(error) => {
                let reason = error.reason();
                tracing::warn!(reason, "could not roll up usage; will retry");
            }
        }
    }
}

/// Writes the checks of today and yesterday, and removes statistics that are older than the ceiling of their tenant.
async fn roll_up(store: &Store) -> Result<(), StoreError> {
    let mut tx = store.begin("usage.roll_up", Scope::Service).await?;
    tx.usage().roll_up(DAYS).await?;
    tx.commit().await?;
    let mut tx = store.begin("usage.keep_days", Scope::Service).await?;
    let removed = tx.usage().keep_days().await?;
    tx.commit().await?;
    tracing::debug!(removed, "removed statistics beyond the ceiling of their tenant");
    Ok(())
}

/// Samples Redis and writes the result. A failure is only logged.
async fn sample(control: &ControlState, store: &Store, redis: &Client) {
    let found = match weir_redis::usage::sample(redis, KEYS).await {
        Ok(found) => found,
        Err(error) => {
            tracing::warn!(%error, "could not sample Redis for usage; will retry");
            return;
        }
    };
    let sample = |(tenant_id, keys): (_, KeysOfTenant)| RedisUsage {
        tenant_id,
        subjects: keys.subjects,
        bytes: keys.bytes,
    };
    let samples: Vec<_> = found.into_iter().map(sample).collect();
    let subjects = samples.iter().map(|sample| sample.subjects).sum();
    match note(store, &samples).await {
        Ok(over) => control.meters().subjects_sampled(subjects, over),
        Err(error) => {
            let reason = error.reason();
            tracing::warn!(reason, "could not write usage; will retry");
        }
    }
}

async fn note(store: &Store, samples: &[RedisUsage]) -> Result<u64, StoreError> {
    let mut tx = store.begin("usage.note", Scope::Service).await?;
    let over = tx.usage().note(samples).await?;
    tx.commit().await?;
    Ok(over)
}
