//! Spacing: at least `interval` since the last admitted request, whatever its cost.

use super::bounds::{InvalidLimit, span_ms};
use super::clock::{ms_until, pulled_back};
use super::definition::{
    Bound, ChargedLimit, Counting, Definition, Described, Level, ScriptParameters, Wait, Windows,
};
use super::parameter::{Input, Parameter};
use crate::quantity::short;
use crate::time::Micros;

/// Parameters of a spacing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Spacing {
    interval_ms: u64,
}

/// The time at which a request was last admitted, if it still matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpacingState {
    pub(crate) last_us: Option<u64>,
}

impl Spacing {
    /// At most one request in `interval_ms`.
    pub fn new(interval_ms: u64) -> Result<Self, InvalidLimit> {
        Ok(Self { interval_ms: span_ms("interval_ms", interval_ms)? })
    }

    /// The interval in milliseconds.
    pub const fn interval_ms(&self) -> u64 {
        self.interval_ms
    }

    /// One gate's share: all gates together keep the distance on average.
    pub(super) fn share(&self, gates: u64) -> Result<Self, InvalidLimit> {
        Self::new(self.interval_ms * gates)
    }

    pub(super) fn describe(interval_ms: &u64) -> String {
        format!("at least {} apart", short(*interval_ms))
    }

    /// The time at which the next request can pass. `None` means now.
    fn free_at(&self, state: SpacingState, now: Micros) -> Option<u64> {
        let last_us = pulled_back(state.last_us?, now);
        let free_us = last_us + self.interval_ms * 1000;
        (free_us > last_us.max(now.0)).then_some(free_us)
    }
}

impl Described for Spacing {
    const TITLE: &'static str = "Spacing";
    const HINT: &'static str = "A minimum time between requests.";
    const PARAMETERS: &'static [Parameter] =
        &[Parameter::new("interval_ms", "Minimum interval", Input::Window)];
}

impl Definition for Spacing {
    fn limit(&self) -> u64 {
        1
    }

    fn window_ms(&self) -> Option<u64> {
        Some(self.interval_ms)
    }

    fn refundable(&self) -> bool {
        true
    }

    /// A spacing has no units to take in advance.
    fn leasable(&self) -> bool {
        false
    }

    fn windows(&self) -> Option<Windows<'_>> {
        None
    }

    fn bound(&self) -> Option<Bound> {
        Some(Bound::Distance { interval_ms: self.interval_ms })
    }

    /// One request in each interval, whatever its cost.
    fn worst_case(&self, stretch_us: u64, cost: u64) -> u64 {
        stretch_us.div_ceil(self.interval_ms * 1000).saturating_mul(cost)
    }
}

impl Counting for Spacing {
    type State = SpacingState;

    /// Rules with a spacing keep nothing free.
    fn keeping(self, _units: u64) -> Self {
        self
    }

    fn settled(&self, state: &SpacingState, now: Micros) -> Option<SpacingState> {
        let last_us = state.last_us.map(|last_us| pulled_back(last_us, now));
        (last_us != state.last_us).then_some(SpacingState { last_us })
    }

    fn wait(&self, state: &SpacingState, _cost: u64, now: Micros) -> Wait {
        match self.free_at(*state, now) {
            Some(free_us) => Wait::Ms(ms_until(free_us, now)),
            None => Wait::None,
        }
    }

    fn charge(&self, state: &mut SpacingState, _cost: u64, now: Micros) {
        let last_us = state.last_us.map_or(0, |last_us| pulled_back(last_us, now));
        state.last_us = Some(last_us.max(now.0));
    }

    fn refund(
        &self,
        state: &mut SpacingState,
        _cost: u64,
        charge: Option<ChargedLimit>,
        now: Micros,
    ) -> bool {
        let is_last = charge.is_none_or(|charge| state.last_us == Some(charge.at.0));
        if !is_last || self.free_at(*state, now).is_none() {
            return false;
        }
        state.last_us = None;
        true
    }

    fn level(&self, state: &SpacingState, now: Micros) -> Level {
        match self.free_at(*state, now) {
            Some(free_us) => Level { remaining: 0, reset_after_ms: ms_until(free_us, now) },
            None => Level { remaining: 1, reset_after_ms: 0 },
        }
    }

    fn script_parameters(&self) -> ScriptParameters {
        ScriptParameters::Three([self.interval_ms * 1000, 0, 0])
    }
}
