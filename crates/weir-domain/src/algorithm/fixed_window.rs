//! Fixed window: `n + c ≤ limit`, windows aligned to the epoch (index = ⌊now ÷ window⌋).
//!
//! Cheap and easy to explain. Its bound is per aligned window: across a boundary twice the limit
//! can pass within one window's length. The window arithmetic serves the quota too.

use super::bounds::{InvalidLimit, span_ms, units};
use super::clock::{ms_until, window_time};
use super::definition::{
    Bound, Counting, Definition, Described, Level, ScriptParameters, Wait, Windows, part,
    windows_touched,
};
use super::parameter::{Input, Parameter};
use crate::quantity::{grouped, period};
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
    /// The end of the window; 0 if it is not known.
    pub(crate) end_us: u64,
}

/// The start and the end of one window, and the units taken in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) start_us: u64,
    pub(super) end_us: u64,
    pub(super) taken: u64,
    /// Whether a step of the clock had left the counter in the future.
    pub(super) pulled: bool,
}

impl FixedWindow {
    /// `limit` units in each window of `window_ms`.
    pub fn new(limit: u64, window_ms: u64) -> Result<Self, InvalidLimit> {
        Ok(Self { limit: units("limit", limit)?, window_ms: span_ms("window_ms", window_ms)? })
    }

    /// The units that a window admits.
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// The length of a window in milliseconds.
    pub const fn window_ms(&self) -> u64 {
        self.window_ms
    }

    /// One gate's share of the limit.
    pub(super) fn share(&self, gates: u64) -> Result<Self, InvalidLimit> {
        Self::new(part(self.limit, gates), self.window_ms)
    }

    pub(super) fn describe(limit: &u64, window_ms: &u64) -> String {
        format!("{} per {} (fixed window)", grouped(*limit), period(*window_ms))
    }

    fn window(&self, state: WindowState, now: Micros) -> Window {
        let window_us = self.window_ms * 1000;
        let start_of = |at: u64| at - at % window_us;
        let (at, pulled) = window_time(state.start_us, start_of(now.0) + window_us, now);
        let start_us = start_of(at);
        Window::new(state, (start_us, start_us + window_us), pulled)
    }
}

impl Described for FixedWindow {
    const TITLE: &'static str = "Fixed window";
    const HINT: &'static str =
        "Resets at fixed times. Cheapest, but up to twice the limit can pass around a reset.";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::new("limit", "Limit", Input::Units),
        Parameter::new("window_ms", "per", Input::Window),
    ];
}

impl Definition for FixedWindow {
    fn limit(&self) -> u64 {
        self.limit
    }

    fn window_ms(&self) -> Option<u64> {
        Some(self.window_ms)
    }

    fn refundable(&self) -> bool {
        true
    }

    fn leasable(&self) -> bool {
        true
    }

    fn windows(&self) -> Option<Windows<'_>> {
        Some(Windows::Aligned { window_ms: self.window_ms })
    }

    fn bound(&self) -> Option<Bound> {
        Some(Bound::AlignedWindow { limit: self.limit, window_ms: self.window_ms })
    }

    /// The limit in each window that the stretch touches: two, if it is as long as one.
    fn worst_case(&self, stretch_us: u64, _cost: u64) -> u64 {
        self.limit * windows_touched(stretch_us, self.window_ms * 1000)
    }
}

impl Counting for FixedWindow {
    type State = WindowState;

    fn settled(&self, state: &WindowState, now: Micros) -> Option<WindowState> {
        self.window(*state, now).settled()
    }

    fn wait(&self, state: &WindowState, cost: u64, now: Micros) -> Wait {
        self.window(*state, now).wait(self.limit, cost, now)
    }

    fn charge(&self, state: &mut WindowState, cost: u64, now: Micros) {
        *state = self.window(*state, now).charged(cost);
    }

    fn refund(&self, state: &mut WindowState, cost: u64, now: Micros) {
        *state = self.window(*state, now).refunded(*state, cost);
    }

    fn level(&self, state: &WindowState, now: Micros) -> Level {
        self.window(*state, now).level(self.limit, now)
    }

    fn script_parameters(&self) -> ScriptParameters {
        ScriptParameters::Three([self.limit, self.window_ms * 1000, 0])
    }
}

impl Window {
    /// The window between these bounds. Units that were taken before it do not count.
    pub(super) fn new(state: WindowState, (start_us, end_us): (u64, u64), pulled: bool) -> Self {
        let taken = if state.start_us >= start_us { state.taken } else { 0 };
        Self { start_us, end_us, taken, pulled }
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
        self.state(self.taken + cost)
    }

    /// `state` after a refund, which has an effect only if the units were taken from its window.
    pub(super) fn refunded(self, state: WindowState, cost: u64) -> WindowState {
        let same_end = state.end_us == self.end_us || state.end_us == 0;
        let own = self.pulled || (state.start_us == self.start_us && same_end);
        if !own {
            return state;
        }
        match self.taken.saturating_sub(cost) {
            0 => WindowState::default(),
            taken => self.state(taken),
        }
    }

    /// The state of this window, if a step of the clock had left it in the future.
    pub(super) fn settled(self) -> Option<WindowState> {
        self.pulled.then_some(self.state(self.taken))
    }

    const fn state(self, taken: u64) -> WindowState {
        WindowState { start_us: self.start_us, taken, end_us: self.end_us }
    }

    pub(super) fn level(self, limit: u64, now: Micros) -> Level {
        Level {
            remaining: limit.saturating_sub(self.taken),
            reset_after_ms: if self.taken > 0 { ms_until(self.end_us, now) } else { 0 },
        }
    }
}
