//! Deletes expired rows: answers for repeats, sessions, invitations, sign-ups, keys, overrides, and gates that stopped long
//! ago. Rolls up statistics and maintains their tables.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use weir_store::{Scope, Store, StoreError};

use crate::actor::denied;
use crate::meters::BackgroundTask;
use crate::state::ControlState;

const EVERY: Duration = Duration::from_mins(1);
/// The most rows of each kind in one transaction. If there are more, the next transaction follows at once.
const BATCH: u32 = 1000;
/// The most steps, counts of requests of keys, or usage of quotas, that one statement deletes.
const COUNTS_BATCH: u32 = 20_000;
/// The interval of roll-ups. One without work is cheap: hours are completed once an hour and after late reports of gates.
const ROLL_UP_EVERY: Duration = Duration::from_secs(20);
/// The tables are purged every n-th turn: every ten minutes.
const KEEP_EVERY: u32 = 30;
/// The first deadline of a statement, and the longest.
const FIRST_DEADLINE: Duration = Duration::from_secs(20);
const DEADLINE_MAX: Duration = Duration::from_mins(5);
/// The time for which deliveries are retained.
const DELIVERIES_RETAINED_MS: i64 = 30 * 24 * 60 * 60 * 1000;
/// The time for which revoked and expired keys are retained.
const KEYS_RETAINED_MS: i64 = 90 * 24 * 60 * 60 * 1000;
/// The time for which overrides that ended are retained.
const OVERRIDES_RETAINED_MS: i64 = 24 * 60 * 60 * 1000;
/// The most audit entries of one log that are removed in one transaction. The next turn removes more.
const AUDIT_BATCH: u32 = 10_000;
const GATES_RETAINED: Duration = Duration::from_hours(24);

/// Sweeps every minute until `stop`. Several control planes can sweep at once, because each takes different rows.
pub async fn run_housekeeping(control: ControlState, stop: CancellationToken) {
    control.meters().succeeded(BackgroundTask::Sweep, control.clock.now());
    let mut turns = tokio::time::interval(EVERY);
    turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => {
                denied::record_counted(&control, true).await;
                return;
            }
            _ = turns.tick() => {}
        }
        denied::record_counted(&control, false).await;
        let swept = async {
            sweep(&control, &stop).await?;
            delete_ended_overrides(&control, &stop).await
        };
        match swept.await {
            Ok(()) => control.meters().succeeded(BackgroundTask::Sweep, control.clock.now()),
            Err(error) => {
                let reason = error.reason();
                tracing::warn!(reason, "could not delete expired rows; will retry");
            }
        }
    }
}

/// Rolls up statistics and maintains their tables until `stop`. If several control planes run this at once, one of them does
/// the work.
pub async fn keep_statistics(control: ControlState, stop: CancellationToken) {
    control.meters().succeeded(BackgroundTask::Statistics, control.clock.now());
    let mut turns = tokio::time::interval(ROLL_UP_EVERY);
    turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut failures = 0;
    for turn in 0_u32.. {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = turns.tick() => {}
        }
        let store = control.store.with_answer_timeout(statement_deadline(failures));
        match maintain(&control, &store, turn.is_multiple_of(KEEP_EVERY)).await {
            Ok(()) => {
                failures = 0;
                control.meters().succeeded(BackgroundTask::Statistics, control.clock.now());
            }
            Err(error) => {
                failures += 1;
                control.meters().roll_up_failed();
                let reason = error.reason();
                tracing::warn!(reason, "could not roll up statistics; will retry");
            }
        }
    }
}

/// The deadline of one statement. It is short at first, so that a silent connection is detected soon, and grows with each
/// failure, so that a large amount of work finishes in the end.
fn statement_deadline(failures: u32) -> Duration {
    let factor = 2_u32.saturating_pow(failures);
    FIRST_DEADLINE.saturating_mul(factor).min(DEADLINE_MAX)
}

/// Runs each step in a transaction of its own, so that no step holds a lock during the next one.
async fn maintain(control: &ControlState, store: &Store, keep: bool) -> Result<(), StoreError> {
    let retention = &control.settings.retention;
    if keep {
        let mut tx = store.begin("housekeeping.open_days", Scope::Service).await?;
        tx.housekeeping().open_days().await?;
        tx.commit().await?;
    }
    let mut tx = store.begin("housekeeping.roll_up", Scope::Service).await?;
    tx.housekeeping().roll_up(retention).await?;
    control.meters().partitions_ahead(tx.housekeeping().days_ahead().await?);
    tx.commit().await?;
    delete_old_steps(store).await?;
    if !keep {
        return Ok(());
    }
    loop {
        let mut tx = store.begin("housekeeping.drop_old_day", Scope::Service).await?;
        let dropped = tx.housekeeping().drop_old_day(retention).await?;
        tx.commit().await?;
        if !dropped {
            break;
        }
    }
    delete_old_counts(store).await?;
    let mut tx = store.begin("housekeeping.fold_customer_days", Scope::Service).await?;
    tx.customer_days().fold(retention.days_days).await?;
    tx.commit().await?;
    let mut tx = store.begin("housekeeping.delete_old", Scope::Service).await?;
    tx.housekeeping().delete_old(retention).await?;
    tx.commit().await?;
    let mut tx = store.begin("housekeeping.delete_old_changes", Scope::Service).await?;
    tx.housekeeping().delete_old_changes().await?;
    tx.commit().await?;
    let mut tx = store.begin("housekeeping.keep_samples", Scope::Service).await?;
    tx.housekeeping().keep_samples(retention).await?;
    tx.commit().await?;
    purge_audit(control, store).await
}

/// Deletes steps that are past their retention, in batches.
async fn delete_old_steps(store: &Store) -> Result<(), StoreError> {
    loop {
        let mut tx = store.begin("housekeeping.delete_old_steps", Scope::Service).await?;
        let deleted = tx.housekeeping().delete_old_steps(COUNTS_BATCH).await?;
        tx.commit().await?;
        if deleted < u64::from(COUNTS_BATCH) {
            return Ok(());
        }
    }
}

/// Deletes counts of requests of keys, and the usage of quotas, that are past their retention, in batches.
async fn delete_old_counts(store: &Store) -> Result<(), StoreError> {
    loop {
        let mut tx = store.begin("housekeeping.delete_old_counts", Scope::Service).await?;
        let hours = tx.housekeeping().delete_old_key_hours(COUNTS_BATCH).await?;
        let periods = tx.housekeeping().delete_old_quota_periods(COUNTS_BATCH).await?;
        tx.commit().await?;
        if hours.max(periods) < u64::from(COUNTS_BATCH) {
            return Ok(());
        }
    }
}

/// Removes audit entries that are older than the retention.
async fn purge_audit(control: &ControlState, store: &Store) -> Result<(), StoreError> {
    let mut tx = store.begin("housekeeping.purge_audit", Scope::Service).await?;
    let purged = tx.audit().purge(control.settings.audit_days, AUDIT_BATCH).await?;
    tx.commit().await?;
    if purged > 0 {
        tracing::info!(purged, "removed audit entries older than the retention");
    }
    Ok(())
}

/// Sweeps in batches until no rows are left.
async fn sweep(control: &ControlState, stop: &CancellationToken) -> Result<(), StoreError> {
    while !stop.is_cancelled() {
        let mut tx = control.store.begin("housekeeping.sweep", Scope::Service).await?;
        let now = control.clock.now();
        let swept = tx.sweep().expired(now, BATCH).await?;
        let keys = tx.sweep().unusable_keys(now.plus_ms(-KEYS_RETAINED_MS), BATCH).await?;
        let deliveries =
            tx.deliveries().forget(now.plus_ms(-DELIVERIES_RETAINED_MS), BATCH).await?
                + tx.alerts().forget_firings(now, BATCH).await?;
        let gates = tx.gates().forget(GATES_RETAINED).await?;
        tx.commit().await?;
        if swept + keys + gates + deliveries > 0 {
            tracing::debug!(swept, keys, gates, deliveries, "deleted expired rows");
        }
        if swept.max(keys).max(deliveries) < u64::from(BATCH) {
            break;
        }
    }
    Ok(())
}

/// Deletes overrides that ended a day ago, as their tenants would. Those of a set of rules as code stay until its files leave
/// them out.
pub(crate) async fn delete_ended_overrides(
    control: &ControlState,
    stop: &CancellationToken,
) -> Result<(), StoreError> {
    let until = control.clock.now().plus_ms(-OVERRIDES_RETAINED_MS);
    loop {
        let mut tx = control.store.begin("housekeeping.ended_overrides", Scope::Service).await?;
        let tenants = tx.sweep().tenants_with_ended_overrides(until, BATCH).await?;
        tx.commit().await?;
        let mut deleted = 0;
        for tenant_id in tenants {
            if stop.is_cancelled() {
                return Ok(());
            }
            let scope = Scope::Tenant(tenant_id);
            let mut tx = control.store.begin("housekeeping.delete_ended_overrides", scope).await?;
            tx.tenants().begin_change(tenant_id).await?;
            deleted += tx.overrides().delete_ended(tenant_id, until, BATCH).await?;
            tx.commit().await?;
        }
        if deleted < u64::from(BATCH) {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadline_doubles_with_each_failure_up_to_five_minutes() {
        let seconds = |failures| statement_deadline(failures).as_secs();
        assert_eq!([0, 1, 2, 3, 4, 40].map(seconds), [20, 40, 80, 160, 300, 300]);
    }
}
