//! Limits what-if runs: few at a time in this process. Tenants take turns, so none can occupy all runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use weir_domain::id::TenantId;

/// The most runs at a time.
pub(crate) const RUNS_MAX: usize = 2;
/// The longest wait for other runs; then the run is refused. Together with the longest run, it is shorter than the deadline
/// of a request.
const WAIT_MAX: Duration = Duration::from_secs(8);

/// The runs of this process. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct RunLimiter {
    /// Permits are granted in the order of requests.
    running: Arc<Semaphore>,
    /// The number of runs of each tenant that run or wait.
    asked: Arc<Mutex<HashMap<TenantId, u64>>>,
}

/// Permission for one run, returned when dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    _asked: Asked,
    _running: OwnedSemaphorePermit,
}

/// A run of a tenant that runs or waits.
#[derive(Debug)]
struct Asked {
    limiter: RunLimiter,
    tenant: TenantId,
}

/// The reason why a run cannot begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The tenant has as many runs as it can have.
    OfTenant,
    /// The runs of other tenants took too long.
    Others,
}

impl Default for RunLimiter {
    fn default() -> Self {
        Self { running: Arc::new(Semaphore::new(RUNS_MAX)), asked: Arc::default() }
    }
}

impl RunLimiter {
    /// Waits for this tenant's turn. A tenant has at most `most` runs that run or wait. A tenant that starts runs without
    /// pause comes after every tenant that has been waiting.
    pub(crate) async fn enter(&self, tenant: TenantId, most: u64) -> Result<Permit, Refused> {
        let asked = self.ask(tenant, most).ok_or(Refused::OfTenant)?;
        let turn = tokio::time::timeout(WAIT_MAX, Arc::clone(&self.running).acquire_owned());
        match turn.await {
            Ok(Ok(running)) => Ok(Permit { _asked: asked, _running: running }),
            _ => Err(Refused::Others),
        }
    }

    fn ask(&self, tenant: TenantId, most: u64) -> Option<Asked> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let count = asked.entry(tenant).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Asked { limiter: self.clone(), tenant })
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let mut asked = self.limiter.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = asked.get_mut(&self.tenant) {
            *count -= 1;
            if *count == 0 {
                asked.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    const NOBODY_WAITS: &str = "there is room";

    #[tokio::test]
    async fn a_tenant_has_no_more_runs_than_its_ceiling() {
        let runs = RunLimiter::default();
        let [one, two] = [1, 2].map(TenantId::from_u128);
        let first = runs.enter(one, 1).await.expect(NOBODY_WAITS);
        assert_eq!(runs.enter(one, 1).await.unwrap_err(), Refused::OfTenant);
        let second = runs.enter(two, 2).await.expect(NOBODY_WAITS);
        drop(first);
        let third = runs.enter(two, 2).await.expect(NOBODY_WAITS);
        assert_eq!(runs.enter(two, 2).await.unwrap_err(), Refused::OfTenant);
        drop((second, third));
        runs.enter(one, 1).await.expect(NOBODY_WAITS);
    }

    #[tokio::test]
    async fn two_tenants_with_continuous_runs_cannot_shut_out_a_third() {
        let runs = RunLimiter::default();
        let [one, two, three] = [1, 2, 3].map(TenantId::from_u128);
        let began = Arc::new(AtomicU64::new(0));
        // Each tenant holds its run for some turns and then starts another at once.
        for greedy in [one, two] {
            let (runs, began) = (runs.clone(), Arc::clone(&began));
            tokio::spawn(async move {
                while let Ok(permit) = runs.enter(greedy, 1).await {
                    began.fetch_add(1, Ordering::Relaxed);
                    for _ in 0..5 {
                        tokio::task::yield_now().await;
                    }
                    drop(permit);
                }
            });
        }
        tokio::task::yield_now().await;
        for _ in 0..20 {
            let before = began.load(Ordering::Relaxed);
            drop(runs.enter(three, 1).await.expect("its turn comes"));
            let after = began.load(Ordering::Relaxed);
            assert!(after - before <= 2, "one run of each goes before: {}", after - before);
        }
    }
}
