//! Fixed window: `n + c ≤ limit`, windows aligned to the epoch (index = ⌊now ÷ window⌋).
//!
//! Cheap and easy to explain. Its bound is per aligned window: across a boundary twice the limit
//! can pass within one window's length.

use super::bounds::InvalidLimit;
use super::clock::window_time;
use super::definition::{Bound, Definition, Described, ScriptParameters, Windows, windows_touched};
use super::parameter::Parameter;
use super::window::{UnitsPerWindow, Window, WindowState, Windowed};
use crate::quantity::{grouped, period};
use crate::time::Micros;

/// Parameters of a fixed window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FixedWindow(UnitsPerWindow);

impl FixedWindow {
    /// `limit` units in each window of `window_ms`.
    pub fn new(limit: u64, window_ms: u64) -> Result<Self, InvalidLimit> {
        UnitsPerWindow::new(limit, window_ms).map(Self)
    }

    /// One gate's share of the limit.
    #[expect(clippy::unnecessary_wraps, reason = "the shares of other algorithms can be invalid")]
    pub(super) fn share(&self, gates: u64) -> Result<Self, InvalidLimit> {
        Ok(Self(self.0.share(gates)))
    }

    pub(super) fn describe(limit: &u64, window_ms: &u64) -> String {
        format!("{} per {} (fixed window)", grouped(*limit), period(*window_ms))
    }
}

impl Described for FixedWindow {
    const TITLE: &'static str = "Fixed window";
    const HINT: &'static str =
        "Resets at fixed times. Cheapest, but up to twice the limit can pass around a reset.";
    const PARAMETERS: &'static [Parameter] = UnitsPerWindow::PARAMETERS;
}

impl Definition for FixedWindow {
    fn limit(&self) -> u64 {
        self.0.limit
    }

    fn window_ms(&self) -> Option<u64> {
        Some(self.0.window_ms)
    }

    fn refundable(&self) -> bool {
        true
    }

    fn leasable(&self) -> bool {
        true
    }

    fn windows(&self) -> Option<Windows<'_>> {
        Some(Windows::Aligned { window_ms: self.0.window_ms })
    }

    fn bound(&self) -> Option<Bound> {
        let UnitsPerWindow { limit, window_ms } = self.0;
        Some(Bound::AlignedWindow { limit, window_ms })
    }

    /// The limit in each window that the stretch touches: two, if it is as long as one.
    fn worst_case(&self, stretch_us: u64, _cost: u64) -> u64 {
        self.0.limit.saturating_mul(windows_touched(stretch_us, self.0.window_us()))
    }
}

impl Windowed for FixedWindow {
    fn keeping(self, units: u64) -> Self {
        Self(self.0.keeping(units))
    }

    fn limit(&self) -> u64 {
        self.0.limit
    }

    fn window(&self, state: WindowState, now: Micros) -> Window {
        let window_us = self.0.window_us();
        let start_of = |at: u64| at - at % window_us;
        let stop_us = start_of(now.0) + window_us;
        let (at, pulled) = window_time(start_of(state.taken_at_us), stop_us, now);
        let start_us = start_of(at);
        Window::new(state, (start_us, start_us + window_us), now, pulled)
    }

    fn script_parameters(&self) -> ScriptParameters {
        self.0.script_parameters()
    }
}
