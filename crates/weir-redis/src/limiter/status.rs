//! The state of Redis as the limiter sees it, shared with its handles.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[derive(Debug, Default)]
pub(super) struct Status {
    up: AtomicBool,
    script_loads: AtomicU64,
}

impl Status {
    pub(super) fn up(&self) -> bool {
        self.up.load(Ordering::Relaxed)
    }

    /// Sets whether Redis decides checks. Returns the previous value.
    pub(super) fn set_up(&self, up: bool) -> bool {
        self.up.swap(up, Ordering::Relaxed)
    }

    pub(super) fn script_loads(&self) -> u64 {
        self.script_loads.load(Ordering::Relaxed)
    }

    pub(super) fn count_script_load(&self) {
        self.script_loads.fetch_add(1, Ordering::Relaxed);
    }
}
