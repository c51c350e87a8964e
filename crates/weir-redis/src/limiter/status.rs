//! The state of Redis as the limiter sees it, shared with its handles.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::program::Program;

#[derive(Debug, Default)]
pub(super) struct Status {
    up: AtomicBool,
    functions: AtomicBool,
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

    /// Whether Redis runs the program as a function. False before the first connection.
    pub(super) fn functions(&self) -> bool {
        self.functions.load(Ordering::Relaxed)
    }

    pub(super) fn set_program(&self, program: Program) {
        self.functions.store(program == Program::Function, Ordering::Relaxed);
    }

    pub(super) fn script_loads(&self) -> u64 {
        self.script_loads.load(Ordering::Relaxed)
    }

    pub(super) fn count_script_load(&self) {
        self.script_loads.fetch_add(1, Ordering::Relaxed);
    }
}
