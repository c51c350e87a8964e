//! Idle connections of a pool. The last one used is the first one used again, so it has prepared most statements.
//!
//! The driver's pool tests each connection that is returned to it, which costs a round trip, and uses them in turn. It opens and
//! closes the connections of this one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::{Error, PgPool, Postgres};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::silences::Silences;

/// The greatest age of a connection. The driver's pool closes an older one.
const AGE_MAX: Duration = Duration::from_mins(30);
/// The time after which a connection that is not used goes back to the driver's pool, which closes it.
const IDLE_MAX: Duration = Duration::from_mins(10);

/// The idle connections, and the number that can be in use. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Idle {
    pool: PgPool,
    stack: Arc<Stack>,
    permits: Arc<Semaphore>,
    silences: Silences,
}

/// Idle connections, the last one used last.
#[derive(Debug, Default)]
struct Stack(Mutex<Vec<(Lent, Instant)>>);

/// A connection of the driver's pool.
#[derive(Debug)]
pub(crate) struct Lent {
    pub(crate) inner: PoolConnection<Postgres>,
    /// The time at which the pool returned it.
    since: Instant,
}

impl Idle {
    pub(crate) fn new(pool: PgPool, silences: Silences) -> Self {
        let most = usize::try_from(pool.options().get_max_connections()).unwrap_or(usize::MAX);
        let permits = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
        Self { pool, stack: Arc::default(), permits, silences }
    }

    /// Takes the last connection used, or opens one. Waits while as many connections are in use as there can be.
    pub(crate) async fn take(&self) -> Result<(Lent, OwnedSemaphorePermit), Error> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.map_err(|_| Error::PoolClosed)?;
        while let Some((lent, _)) = { self.stack.lock().pop() } {
            if self.silences.since(lent.since.elapsed()) {
                drop(lent.inner.detach());
            } else if lent.since.elapsed() < AGE_MAX {
                return Ok((lent, permit));
            }
        }
        let inner = self.pool.acquire().await?;
        Ok((Lent { inner, since: Instant::now() }, permit))
    }

    /// Takes a connection back. Its permit must be dropped afterwards.
    pub(crate) fn put(&self, lent: Lent) {
        if self.permits.is_closed() {
            return;
        }
        let mut stack = self.stack.lock();
        stack.push((lent, Instant::now()));
        if stack[0].1.elapsed() > IDLE_MAX {
            stack.remove(0);
        }
    }

    /// Whether a connection is in use.
    #[cfg(any(test, feature = "test-support"))]
    pub(crate) fn is_in_use(&self) -> bool {
        let most = usize::try_from(self.pool.options().get_max_connections()).unwrap_or(usize::MAX);
        self.permits.available_permits() < most
    }

    /// Closes every connection, when it is idle.
    pub(crate) async fn close(&self) {
        self.permits.close();
        drop(std::mem::take(&mut *self.stack.lock()));
        self.pool.close().await;
    }
}

impl Stack {
    fn lock(&self) -> MutexGuard<'_, Vec<(Lent, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        if Handle::try_current().is_err() {
            // The driver's pool takes connections back on a task, for which there is no runtime.
            self.lock().drain(..).for_each(|(lent, _)| drop(lent.inner.detach()));
        }
    }
}
