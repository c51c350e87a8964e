//! Work that continues after the answer to a request, so that the time of the answer neither depends on it nor reveals it.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::Semaphore;

/// Runs at most `MAX` pieces of work at a time.
#[derive(Debug)]
pub(crate) struct AfterAnswer<const MAX: usize>(Arc<Semaphore>);

impl<const MAX: usize> Default for AfterAnswer<MAX> {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX)))
    }
}

impl<const MAX: usize> AfterAnswer<MAX> {
    /// Whether no work is running.
    #[cfg(test)]
    pub(crate) fn is_idle(&self) -> bool {
        self.0.available_permits() == MAX
    }

    /// Starts the work, unless `MAX` others run. Returns whether it was started.
    pub(crate) fn run(&self, work: impl Future<Output = ()> + Send + 'static) -> bool {
        let Ok(permit) = Arc::clone(&self.0).try_acquire_owned() else { return false };
        tokio::spawn(async move {
            let _permit = permit;
            work.await;
        });
        true
    }
}
