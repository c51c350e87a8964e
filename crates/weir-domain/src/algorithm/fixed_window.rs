//! Fixed window: `n + c ≤ limit`, windows aligned to the epoch (index = ⌊now ÷ window⌋).
//!
//! Cheap and easy to explain. Its bound is per aligned window: across a boundary twice the limit
//! can pass within one window's length. The window arithmetic serves the quota too.

use super::{Level, Wait, believed, ms_until};
use crate::limit::{InvalidLimit, span_ms, units};
use crate::time::Micros;

/// Parameters of a fixed window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedWindow {
    limit: u64,
    window_ms: u64,
}

/// Units taken since the start of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WindowState {
    pub(crate) start_us: u64,
    pub(crate) taken: u64,
}

/// One window: where it begins and ends, and what was taken in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) start_us: u64,
    pub(super) end_us: u64,
    pub(super) taken: u64,
}

impl FixedWindow {
    /// `limit` units in each window of `window_ms`.
    pub fn new(limit: u64, window_ms: u64) -> Result<Self, InvalidLimit> {
        Ok(Self { limit: units("limit", limit)?, window_ms: span_ms("window_ms", window_ms)? })
    }

    /// Units a window admits.
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Length of a window in milliseconds.
    pub const fn window_ms(&self) -> u64 {
        self.window_ms
    }

    pub(super) fn wait(&self, state: &WindowState, cost: u64, now: Micros) -> Wait {
        self.window(*state, now).wait(self.limit, cost, now)
    }

    pub(super) fn charge(&self, state: &mut WindowState, cost: u64, now: Micros) {
        *state = self.window(*state, now).charged(cost);
    }

    pub(super) fn refund(&self, state: &mut WindowState, cost: u64, now: Micros) {
        *state = self.window(*state, now).refunded(cost);
    }

    pub(super) fn level(&self, state: &WindowState, now: Micros) -> Level {
        self.window(*state, now).level(self.limit, now)
    }

    fn window(&self, state: WindowState, now: Micros) -> Window {
        let window_us = self.window_ms * 1000;
        let (state, at) = match believed(state.start_us, now) {
            Some(at) => (state, at),
            None => (WindowState::default(), now.0),
        };
        let start_us = at - at % window_us;
        Window::new(state, start_us, start_us + window_us)
    }
}

impl Window {
    /// The window from `start_us` to `end_us`; what was taken before it is forgotten.
    pub(super) fn new(state: WindowState, start_us: u64, end_us: u64) -> Self {
        let taken = if state.start_us >= start_us { state.taken } else { 0 };
        Self { start_us, end_us, taken }
    }

    pub(super) fn wait(self, limit: u64, cost: u64, now: Micros) -> Wait {
        if cost > limit {
            Wait::Forever
        } else if self.taken + cost <= limit {
            Wait::None
        } else {
            Wait::Ms(ms_until(self.end_us, now))
        }
    }

    pub(super) fn charged(self, cost: u64) -> WindowState {
        WindowState { start_us: self.start_us, taken: self.taken + cost }
    }

    pub(super) fn refunded(self, cost: u64) -> WindowState {
        match self.taken.saturating_sub(cost) {
            0 => WindowState::default(),
            taken => WindowState { start_us: self.start_us, taken },
        }
    }

    pub(super) fn level(self, limit: u64, now: Micros) -> Level {
        Level {
            remaining: limit.saturating_sub(self.taken),
            reset_after_ms: if self.taken > 0 { ms_until(self.end_us, now) } else { 0 },
        }
    }
}
