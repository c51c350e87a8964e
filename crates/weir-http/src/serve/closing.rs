//! The end of a listener, as its connections see it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// Whether a listener closes. Each answer reads the flag, because a look at the token takes a lock.
#[derive(Debug, Default)]
pub(super) struct Closing {
    begun: AtomicBool,
    token: CancellationToken,
}

/// The time for which an idle connection is served after the port has closed: a request that its client sends meanwhile is
/// answered. A client that reuses an idle connection later finds it closed.
const IDLE_GRACE: Duration = Duration::from_millis(500);

impl Closing {
    /// From now on each answer ends its connection.
    pub(super) fn begin(&self) {
        self.begun.store(true, Ordering::Relaxed);
        self.token.cancel();
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }

    /// Returns when idle connections end.
    pub(super) async fn idle_end(&self) {
        self.token.cancelled().await;
        tokio::time::sleep(IDLE_GRACE).await;
    }
}
