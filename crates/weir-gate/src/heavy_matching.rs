//! Matches requests of namespaces with many regular expressions away from the threads that serve other tenants.

use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use weir_domain::rulebook::Namespace;

/// A namespace with more bytes of compiled regular expressions is heavy: matching one check can take milliseconds.
const HEAVY_PATTERN_BYTES: u64 = 64 << 10;

/// A check that has waited so long goes ahead beside the others.
const WAIT_MAX: Duration = Duration::from_millis(100);

/// Lets heavy matching use half of the processors at most, one check at a time for each permit.
#[derive(Debug)]
pub(crate) struct HeavyMatching {
    permits: Semaphore,
}

impl HeavyMatching {
    /// For the processors of this machine.
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { permits: Semaphore::new((processors / 2).max(1)) }
    }

    /// Runs `matching` for a request of this namespace. Checks of heavy namespaces wait for each other, in order of
    /// arrival and for [`WAIT_MAX`] at most.
    pub(crate) async fn run<T>(
        &self,
        namespace: Option<&Namespace>,
        matching: impl FnOnce() -> T,
    ) -> T {
        if namespace.is_none_or(|namespace| namespace.patterns.bytes <= HEAVY_PATTERN_BYTES) {
            return matching();
        }
        let _permit = timeout(WAIT_MAX, self.permits.acquire()).await;
        match Handle::current().runtime_flavor() {
            // The other tasks of this thread move to another one.
            RuntimeFlavor::MultiThread => tokio::task::block_in_place(matching),
            _ => matching(),
        }
    }
}
