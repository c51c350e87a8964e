//! Keeps the matching of many regular expressions from delaying other tenants.

use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use weir_domain::rulebook::Namespace;

/// A namespace with more bytes of compiled regular expressions is heavy: matching one check can take milliseconds.
const HEAVY_PATTERN_BYTES: u64 = 64 << 10;

/// The longest wait for a permit. After that a check is matched without one.
const WAIT_MAX: Duration = Duration::from_millis(100);

/// Bounds heavy matching to half of the processors: one check at a time for each permit.
#[derive(Debug)]
pub(crate) struct HeavyMatching {
    permits: Semaphore,
}

impl HeavyMatching {
    /// Permits for half of the processors of this machine.
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { permits: Semaphore::new((processors / 2).max(1)) }
    }

    /// Runs `matching` for a request of this namespace. A check of a heavy namespace waits for a permit, in order of arrival
    /// and for at most [`WAIT_MAX`].
    pub(crate) async fn run<T>(&self, namespace: &Namespace, matching: impl FnOnce() -> T) -> T {
        if namespace.patterns.bytes <= HEAVY_PATTERN_BYTES {
            return matching();
        }
        let _permit = timeout(WAIT_MAX, self.permits.acquire()).await;
        match Handle::current().runtime_flavor() {
            // Tokio moves the other tasks of this thread to another one.
            RuntimeFlavor::MultiThread => tokio::task::block_in_place(matching),
            _ => matching(),
        }
    }
}
