//! The clock for leases and cached denials, which never steps.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// A clock that never steps: the system's, unless a test supplies another.
#[derive(Clone, Default)]
pub(crate) struct Monotonic(Option<Arc<dyn Fn() -> Instant + Send + Sync>>);

impl Monotonic {
    #[cfg(test)]
    pub(crate) fn new(now: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(now)))
    }

    pub(crate) fn now(&self) -> Instant {
        self.at(Instant::now())
    }

    /// The time at `instant`, which was just read.
    pub(crate) fn at(&self, instant: Instant) -> Instant {
        self.0.as_ref().map_or(instant, |now| now())
    }
}

impl fmt::Debug for Monotonic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Monotonic")
    }
}
