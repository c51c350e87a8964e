//! Spacing: at least `interval` since the last admitted request, whatever its cost.

use super::{Level, Wait, ms_until, pulled_back};
use crate::limit::{InvalidLimit, span_ms};
use crate::time::Micros;

/// Parameters of a spacing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spacing {
    interval_ms: u64,
}

/// When a request was last admitted, if one still matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpacingState {
    pub(crate) last_us: Option<u64>,
}

impl Spacing {
    /// One request in `interval_ms` at most.
    pub fn new(interval_ms: u64) -> Result<Self, InvalidLimit> {
        Ok(Self { interval_ms: span_ms("interval_ms", interval_ms)? })
    }

    /// The interval in milliseconds.
    pub const fn interval_ms(&self) -> u64 {
        self.interval_ms
    }

    pub(super) fn settled(&self, state: &SpacingState, now: Micros) -> Option<SpacingState> {
        let last_us = state.last_us.map(|last_us| pulled_back(last_us, now));
        (last_us != state.last_us).then_some(SpacingState { last_us })
    }

    pub(super) fn wait(&self, state: &SpacingState, _cost: u64, now: Micros) -> Wait {
        match self.free_at(*state, now) {
            Some(free_us) => Wait::Ms(ms_until(free_us, now)),
            None => Wait::None,
        }
    }

    pub(super) fn charge(&self, state: &mut SpacingState, _cost: u64, now: Micros) {
        let last_us = state.last_us.map_or(0, |last_us| pulled_back(last_us, now));
        state.last_us = Some(last_us.max(now.0));
    }

    pub(super) fn refund(&self, state: &mut SpacingState) {
        state.last_us = None;
    }

    pub(super) fn level(&self, state: &SpacingState, now: Micros) -> Level {
        match self.free_at(*state, now) {
            Some(free_us) => Level { remaining: 0, reset_after_ms: ms_until(free_us, now) },
            None => Level { remaining: 1, reset_after_ms: 0 },
        }
    }

    /// When the next request may pass, if not now.
    fn free_at(&self, state: SpacingState, now: Micros) -> Option<u64> {
        let last_us = pulled_back(state.last_us?, now);
        let free_us = last_us + self.interval_ms * 1000;
        (free_us > last_us.max(now.0)).then_some(free_us)
    }
}
