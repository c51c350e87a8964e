//! The state of Redis as the limiter sees it, shared with its handles.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

use super::call_times::{CallTimeCounters, CallTimes};

/// The state of one primary as the limiter sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrimaryHealth {
    /// Its host and port. Empty if Redis is no cluster.
    pub address: String,
    /// Whether it decides checks.
    pub up: bool,
    /// The number of buckets that it serves.
    pub buckets: usize,
    /// The durations of the calls of its present link, from the time when a call was sent until it was answered or given up.
    pub calls: CallTimes,
}

#[derive(Debug, Default)]
pub(super) struct Status {
    up: AtomicBool,
    /// Shared by the links of a cluster.
    script_loads: Arc<AtomicU64>,
    calls: CallTimeCounters,
    /// Ends the pause between attempts to connect.
    retry: Notify,
}

impl Status {
    pub(super) fn new(script_loads: Arc<AtomicU64>) -> Self {
        Self { script_loads, ..Self::default() }
    }

    pub(super) fn up(&self) -> bool {
        self.up.load(Ordering::Relaxed)
    }

    /// Sets whether Redis decides checks. Returns the previous value.
    pub(super) fn set_up(&self, up: bool) -> bool {
        self.up.swap(up, Ordering::Relaxed)
    }

    /// Asks for an attempt to connect soon, because the server has probably changed.
    pub(super) fn retry_soon(&self) {
        self.retry.notify_one();
    }

    /// Waits for this long, or until an attempt is asked for. Returns whether one was.
    pub(super) async fn retry_after(&self, pause: Duration) -> bool {
        timeout(pause, self.retry.notified()).await.is_ok()
    }

    pub(super) fn script_loads(&self) -> u64 {
        self.script_loads.load(Ordering::Relaxed)
    }

    pub(super) fn count_script_load(&self) {
        self.script_loads.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn calls(&self) -> CallTimes {
        self.calls.read()
    }

    /// Counts a call that was answered, or given up, after this time.
    pub(super) fn count_call(&self, took: Duration) {
        self.calls.add(took);
    }
}
