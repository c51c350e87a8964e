//! Reads the use of the queues of all tenants, for the metrics.

use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use weir_redis::deferred::QueueUse;
use weir_redis::error::RedisError;

use super::deferral::Deferral;
use crate::state::GateState;

/// The interval between two readings.
const READ_EVERY: Duration = Duration::from_secs(10);

/// Reads the use of the queues until `stop`. A reading that fails leaves the last numbers.
pub(super) async fn watch(state: &GateState, deferral: &Deferral, stop: &CancellationToken) {
    loop {
        match read(deferral).await {
            Ok(usage) => state.meters.deferred_use(usage),
            Err(error) => {
                tracing::debug!(reason = error.label(), "could not read the usage of queues");
            }
        }
        if stop.run_until_cancelled(sleep(READ_EVERY)).await.is_none() {
            return;
        }
    }
}

/// The sum over all tenants.
async fn read(deferral: &Deferral) -> Result<QueueUse, RedisError> {
    let mut sum = QueueUse::default();
    for tenant in deferral.jobs.tenants_with_jobs().await? {
        sum += deferral.jobs.usage(tenant).await?;
    }
    Ok(sum)
}
