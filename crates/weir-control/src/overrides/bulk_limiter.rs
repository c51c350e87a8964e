//! Limits bulk writes of overrides: one at a time for each tenant, and few in this process. A request waits without a
//! connection to Postgres, so that bulk writes leave most of the pool to other requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use weir_domain::id::TenantId;

/// The most bulk writes at a time in this process, which has a pool of ten connections.
const WRITES_MAX: usize = 3;
/// The most bulk writes of one tenant that run or wait. Each holds a body of up to 4 MiB in memory.
const PER_TENANT_MAX: usize = 16;
/// The longest wait. Together with the longest write, it is shorter than the deadline of a request.
const WAIT_MAX: Duration = Duration::from_secs(8);

/// The bulk writes of this process. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct BulkLimiter {
    /// Permits are granted in the order of the requests.
    running: Arc<Semaphore>,
    queues: Arc<Mutex<HashMap<TenantId, Queue>>>,
    wait_max: Duration,
}

/// Permission for one bulk write, returned when dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    _running: OwnedSemaphorePermit,
    _turn: OwnedSemaphorePermit,
    _entry: QueueEntry,
}

/// The error of a tenant with too many bulk writes, or of a wait that was too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused;

/// The bulk writes of one tenant.
#[derive(Debug)]
struct Queue {
    /// A semaphore with one permit.
    turn: Arc<Semaphore>,
    /// The number of writes that run or wait.
    count: usize,
}

/// An entry in the queue of a tenant.
#[derive(Debug)]
struct QueueEntry {
    limiter: BulkLimiter,
    tenant: TenantId,
}

impl Default for BulkLimiter {
    fn default() -> Self {
        let running = Arc::new(Semaphore::new(WRITES_MAX));
        Self { running, queues: Arc::default(), wait_max: WAIT_MAX }
    }
}

impl BulkLimiter {
    /// Waits until the tenant can write.
    pub(crate) async fn enter(&self, tenant: TenantId) -> Result<Permit, Refused> {
        let (turn, entry) = self.queue(tenant).ok_or(Refused)?;
        let permits = async {
            let turn = turn.acquire_owned().await.map_err(|_| Refused)?;
            let running = Arc::clone(&self.running).acquire_owned().await.map_err(|_| Refused)?;
            Ok(Permit { _running: running, _turn: turn, _entry: entry })
        };
        tokio::time::timeout(self.wait_max, permits).await.unwrap_or(Err(Refused))
    }

    fn queue(&self, tenant: TenantId) -> Option<(Arc<Semaphore>, QueueEntry)> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Queue { turn: Arc::new(Semaphore::new(1)), count: 0 };
        let queue = queues.entry(tenant).or_insert_with(new);
        if queue.count >= PER_TENANT_MAX {
            return None;
        }
        queue.count += 1;
        Some((Arc::clone(&queue.turn), QueueEntry { limiter: self.clone(), tenant }))
    }
}

impl Drop for QueueEntry {
    fn drop(&mut self) {
        let mut queues = self.limiter.queues.lock().unwrap_or_else(PoisonError::into_inner);
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
    use super::*;

    const BUSY: TenantId = TenantId::from_u128(1);

    #[tokio::test]
    async fn tenant_writes_one_at_a_time_and_others_are_not_held_up() {
        let limiter = BulkLimiter::default();
        let first = limiter.enter(BUSY).await.unwrap();
        let mut waiting = Box::pin(limiter.enter(BUSY));
        tokio::select! {
            biased;
            _ = &mut waiting => panic!("two writes of one tenant at a time"),
            other = limiter.enter(TenantId::from_u128(2)) => drop(other.unwrap()),
        }
        drop(first);
        drop(waiting.await.unwrap());
        assert!(limiter.queues.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn writes_beyond_the_bounds_of_process_and_tenant_are_refused() {
        let impatient = BulkLimiter { wait_max: Duration::ZERO, ..BulkLimiter::default() };
        let mut permits = Vec::new();
        for n in 0..WRITES_MAX {
            permits.push(impatient.enter(TenantId::from_u128(10 + n as u128)).await.unwrap());
        }
        assert_eq!(impatient.enter(BUSY).await.unwrap_err(), Refused);

        let limiter = BulkLimiter { wait_max: WAIT_MAX, ..impatient };
        let places: Vec<_> = (0..PER_TENANT_MAX).map(|_| limiter.queue(BUSY).unwrap()).collect();
        assert_eq!(limiter.enter(BUSY).await.unwrap_err(), Refused);
        drop((permits, places));
        drop(limiter.enter(BUSY).await.unwrap());
    }
}
