//! The windows that fixed window and quota share, and the parameters that fixed window and sliding window counter share.

use super::bounds::{COUNT_MAX, InvalidLimit, span_ms, units};
use super::clock::ms_until;
use super::definition::{ChargedLimit, Counting, Level, ScriptParameters, Wait, part};
use super::parameter::{Input, Parameter};
use super::period::NEVER_US;
use crate::time::Micros;

/// A number of units in windows of a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct UnitsPerWindow {
    pub(super) limit: u64,
    pub(super) window_ms: u64,
}

/// Units taken since the start of a window. If the window is edited, they count in the new one if the last of them were taken
/// in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WindowState {
    /// The time at which units were last taken.
    pub(crate) taken_at_us: u64,
    pub(crate) taken: u64,
    /// The end of the window; 0 if it is not known.
    pub(crate) end_us: u64,
}

/// A limit that counts units from the start to the end of a window, then from zero.
pub(crate) trait Windowed: Sized {
    /// As [`Counting::keeping`].
    #[must_use]
    fn keeping(self, units: u64) -> Self;

    /// The units that a window admits.
    fn limit(&self) -> u64;

    /// The window that holds `now`, with the units of `state`.
    fn window(&self, state: WindowState, now: Micros) -> Window;

    /// As [`Counting::script_parameters`].
    fn script_parameters(&self) -> ScriptParameters;

    /// As [`Counting::valid_us`].
    fn valid_us(&self) -> Option<(u64, u64)> {
        None
    }
}

/// The start and the end of one window, and the units taken in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    start_us: u64,
    end_us: u64,
    /// The present time, or that of the newest units if it is later.
    at_us: u64,
    taken: u64,
    /// Whether a step of the clock had left the counter in the future.
    pulled: bool,
}

impl UnitsPerWindow {
    pub(super) const PARAMETERS: &'static [Parameter] = &[
        Parameter::new("limit", "Limit", Input::Units),
        Parameter::new("window_ms", "per", Input::Window),
    ];

    pub(super) fn new(limit: u64, window_ms: u64) -> Result<Self, InvalidLimit> {
        Ok(Self { limit: units("limit", limit)?, window_ms: span_ms("window_ms", window_ms)? })
    }

    /// One gate's share of the limit, in the same windows.
    pub(super) fn share(self, gates: u64) -> Self {
        Self { limit: part(self.limit, gates), ..self }
    }

    /// As [`Counting::keeping`].
    pub(super) const fn keeping(self, units: u64) -> Self {
        Self { limit: self.limit.saturating_sub(units), ..self }
    }

    pub(super) const fn window_us(self) -> u64 {
        self.window_ms * 1000
    }

    pub(super) const fn script_parameters(self) -> ScriptParameters {
        ScriptParameters::Three([self.limit, self.window_us(), 0])
    }
}

impl<W: Windowed> Counting for W {
    type State = WindowState;

    fn keeping(self, units: u64) -> Self {
        Windowed::keeping(self, units)
    }

    fn settled(&self, state: &WindowState, now: Micros) -> Option<WindowState> {
        let window = self.window(*state, now);
        window.pulled.then_some(window.state(window.taken))
    }

    fn wait(&self, state: &WindowState, cost: u64, now: Micros) -> Wait {
        let window = self.window(*state, now);
        if cost > self.limit() {
            Wait::Forever
        } else if window.taken + cost <= self.limit() {
            Wait::None
        } else if window.end_us == NEVER_US {
            Wait::Forever
        } else {
            Wait::Ms(ms_until(window.end_us, now))
        }
    }

    fn charge(&self, state: &mut WindowState, cost: u64, now: Micros) {
        let window = self.window(*state, now);
        *state = window.state((window.taken + cost).min(COUNT_MAX));
    }

    /// Has an effect only if the units were taken from the present window.
    fn refund(
        &self,
        state: &mut WindowState,
        cost: u64,
        charge: Option<ChargedLimit>,
        now: Micros,
    ) -> bool {
        let window = self.window(*state, now);
        let same_end = state.end_us == window.end_us || state.end_us == 0;
        let is_same = window.pulled || (state.taken_at_us >= window.start_us && same_end);
        let is_charged = charge
            .is_none_or(|charge| (window.start_us..=state.taken_at_us).contains(&charge.at.0));
        if !is_same || !is_charged || window.taken == 0 {
            return false;
        }
        let taken_at_us = if window.pulled { window.at_us } else { state.taken_at_us };
        *state = match window.taken.saturating_sub(cost) {
            0 => WindowState::default(),
            taken => WindowState { taken_at_us, ..window.state(taken) },
        };
        true
    }

    fn level(&self, state: &WindowState, now: Micros) -> Level {
        let window = self.window(*state, now);
        Level {
            remaining: self.limit().saturating_sub(window.taken),
            reset_after_ms: if window.taken > 0 { ms_until(window.end_us, now) } else { 0 },
        }
    }

    fn script_parameters(&self) -> ScriptParameters {
        Windowed::script_parameters(self)
    }

    fn valid_us(&self) -> Option<(u64, u64)> {
        Windowed::valid_us(self)
    }
}

impl Window {
    /// The window between these bounds. Units that were taken before it do not count.
    pub(super) fn new(
        state: WindowState,
        (start_us, end_us): (u64, u64),
        now: Micros,
        pulled: bool,
    ) -> Self {
        let taken = if state.taken_at_us >= start_us { state.taken } else { 0 };
        let at_us = if pulled { now.0 } else { state.taken_at_us.max(now.0) };
        Self { start_us, end_us, at_us, taken, pulled }
    }

    const fn state(self, taken: u64) -> WindowState {
        WindowState { taken_at_us: self.at_us, taken, end_us: self.end_us }
    }
}
