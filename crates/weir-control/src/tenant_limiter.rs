//! Limits work that takes long, such as what-if runs and bulk writes: `AT_ONCE` pieces at a time in this process, and `OF_TENANT` of
//! one tenant. Tenants take turns, so none can occupy the process. Work waits without a connection to Postgres.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use weir_domain::id::TenantId;

/// The longest wait. Together with the longest work, it is shorter than the deadline of a request.
const WAIT_MAX: Duration = Duration::from_secs(8);

/// The work of this process. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct TenantLimiter<const AT_ONCE: usize, const OF_TENANT: usize> {
    /// Permits are granted in the order of the requests.
    running: Arc<Semaphore>,
    queues: Queues,
    wait_max: Duration,
}

type Queues = Arc<Mutex<HashMap<TenantId, Queue>>>;

/// Permission for one piece of work, returned when dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    _running: OwnedSemaphorePermit,
    _turn: OwnedSemaphorePermit,
    _entry: QueueEntry,
}

/// The reason why work cannot begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// As much work of the tenant runs or waits as is permitted.
    OfTenant,
    /// Other work took too long.
    Others,
}

/// The work of one tenant.
#[derive(Debug)]
struct Queue {
    turn: Arc<Semaphore>,
    /// The number of pieces that run or wait.
    count: u64,
}

/// An entry in the queue of a tenant.
#[derive(Debug)]
struct QueueEntry {
    queues: Queues,
    tenant: TenantId,
}

impl<const AT_ONCE: usize, const OF_TENANT: usize> Default for TenantLimiter<AT_ONCE, OF_TENANT> {
    fn default() -> Self {
        let running = Arc::new(Semaphore::new(AT_ONCE));
        Self { running, queues: Arc::default(), wait_max: WAIT_MAX }
    }
}

impl<const AT_ONCE: usize, const OF_TENANT: usize> TenantLimiter<AT_ONCE, OF_TENANT> {
    /// Waits for this tenant's turn. At most `most` pieces of a tenant run or wait.
    pub(crate) async fn enter(&self, tenant: TenantId, most: u64) -> Result<Permit, Refused> {
        let (turn, entry) = self.queue(tenant, most).ok_or(Refused::OfTenant)?;
        let permits = async {
            let turn = turn.acquire_owned().await.map_err(|_| Refused::Others)?;
            let running = Arc::clone(&self.running).acquire_owned().await;
            let running = running.map_err(|_| Refused::Others)?;
            Ok(Permit { _running: running, _turn: turn, _entry: entry })
        };
        tokio::time::timeout(self.wait_max, permits).await.unwrap_or(Err(Refused::Others))
    }

    fn queue(&self, tenant: TenantId, most: u64) -> Option<(Arc<Semaphore>, QueueEntry)> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Queue { turn: Arc::new(Semaphore::new(OF_TENANT)), count: 0 };
        if queues.get(&tenant).map_or(0, |queue| queue.count) >= most {
            return None;
        }
        let queue = queues.entry(tenant).or_insert_with(new);
        queue.count += 1;
        Some((Arc::clone(&queue.turn), QueueEntry { queues: Arc::clone(&self.queues), tenant }))
    }
}

impl Drop for QueueEntry {
    fn drop(&mut self) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get_mut(&self.tenant) {
            queue.count -= 1;
            if queue.count == 0 {
                queues.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    const NOBODY_WAITS: &str = "there is room";
    const BUSY: TenantId = TenantId::from_u128(1);

    #[tokio::test]
    async fn a_tenant_has_no_more_runs_than_its_ceiling() {
        let runs = TenantLimiter::<2, 2>::default();
        let [one, two] = [1, 2].map(TenantId::from_u128);
        let first = runs.enter(one, 1).await.expect(NOBODY_WAITS);
        assert_eq!(runs.enter(one, 1).await.unwrap_err(), Refused::OfTenant);
        let second = runs.enter(two, 2).await.expect(NOBODY_WAITS);
        drop(first);
        let third = runs.enter(two, 2).await.expect(NOBODY_WAITS);
        assert_eq!(runs.enter(two, 2).await.unwrap_err(), Refused::OfTenant);
        drop((second, third));
        runs.enter(one, 1).await.expect(NOBODY_WAITS);
        assert!(runs.queues.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn two_tenants_with_continuous_runs_cannot_shut_out_a_third() {
        let runs = TenantLimiter::<2, 2>::default();
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

    #[tokio::test]
    async fn tenant_writes_one_at_a_time_and_others_are_not_held_up() {
        let limiter = TenantLimiter::<3, 1>::default();
        let first = limiter.enter(BUSY, 16).await.unwrap();
        let mut waiting = Box::pin(limiter.enter(BUSY, 16));
        tokio::select! {
            biased;
            _ = &mut waiting => panic!("two writes of one tenant at a time"),
            other = limiter.enter(TenantId::from_u128(2), 16) => drop(other.unwrap()),
        }
        drop(first);
        drop(waiting.await.unwrap());
        assert!(limiter.queues.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn writes_beyond_the_bounds_of_process_and_tenant_are_refused() {
        let impatient = TenantLimiter::<3, 1> { wait_max: Duration::ZERO, ..Default::default() };
        let mut permits = Vec::new();
        for n in 0..3 {
            permits.push(impatient.enter(TenantId::from_u128(10 + n), 16).await.unwrap());
        }
        assert_eq!(impatient.enter(BUSY, 16).await.unwrap_err(), Refused::Others);
        let limiter = TenantLimiter { wait_max: WAIT_MAX, ..impatient };
        let places: Vec<_> = (0..16).map(|_| limiter.queue(BUSY, 16).unwrap()).collect();
        assert_eq!(limiter.enter(BUSY, 16).await.unwrap_err(), Refused::OfTenant);
        drop((permits, places));
        drop(limiter.enter(BUSY, 16).await.unwrap());
    }
}
