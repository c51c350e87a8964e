//! Sliding window counter: `⌊previous × (window − elapsed) ÷ window⌋ + current + c ≤ limit`.
//!
//! Two aligned windows estimate the sliding one: constant memory, no burst at the boundary, exact
//! when the previous window's requests were spread evenly. Elapsed time counts in whole
//! milliseconds, rounded down, so that `limit × window_ms` is the greatest product.

use super::bounds::{EXACT_MAX, InvalidLimit};
use super::clock::{ms_until, window_time};
use super::definition::{
    Approximation, Bound, ChargedLimit, Counting, Definition, Described, Level, ScriptParameters,
    Wait, Windows, windows_touched,
};
use super::parameter::Parameter;
use super::window::UnitsPerWindow;
use crate::quantity::{grouped, period};
use crate::time::Micros;

/// Parameters of a sliding window counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SlidingWindowCounter(UnitsPerWindow);

/// Units taken in a window and in the one before it. If the length is edited, the units of each count where the last of them
/// were possibly taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PairState {
    /// The time at which units were last taken.
    pub(crate) taken_at_us: u64,
    pub(crate) current: u64,
    pub(crate) previous: u64,
    /// The length of the windows; 0 if it is not known.
    pub(crate) window_us: u64,
}

/// The two windows as seen now.
#[derive(Debug, Clone, Copy)]
struct View {
    start_us: u64,
    /// The present time, or that of the newest units if it is later.
    at_us: u64,
    elapsed_ms: u64,
    current: u64,
    previous: u64,
    /// Whether a step of the clock had left the counter in the future.
    pulled: bool,
}

impl SlidingWindowCounter {
    /// `limit` units in any window of `window_ms`, estimated.
    pub fn new(limit: u64, window_ms: u64) -> Result<Self, InvalidLimit> {
        let parameters = UnitsPerWindow::new(limit, window_ms)?;
        if limit > EXACT_MAX / window_ms.max(1) {
            return Err(InvalidLimit {
                field: "window_ms",
                reason: format!(
                    "times the limit must be at most {EXACT_MAX} to be counted exactly: for a limit of {limit} at most {} ms",
                    EXACT_MAX / limit
                ),
            });
        }
        Ok(Self(parameters))
    }

    /// One gate's share of the limit.
    #[expect(clippy::unnecessary_wraps, reason = "the shares of other algorithms can be invalid")]
    pub(super) fn share(&self, gates: u64) -> Result<Self, InvalidLimit> {
        Ok(Self(self.0.share(gates)))
    }

    pub(super) fn describe(limit: &u64, window_ms: &u64) -> String {
        format!("{} per {} (approximate)", grouped(*limit), period(*window_ms))
    }

    const fn state(&self, view: View) -> PairState {
        let View { at_us, current, previous, .. } = view;
        PairState { taken_at_us: at_us, current, previous, window_us: self.0.window_us() }
    }

    fn view(&self, state: PairState, now: Micros) -> View {
        let window_us = self.0.window_us();
        let start_of = |at_us: u64| at_us - at_us % window_us;
        let stop_us = start_of(now.0) + window_us;
        let (at_us, pulled) = window_time(start_of(state.taken_at_us), stop_us, now);
        let start_us = start_of(at_us);
        let taken_at_us = if pulled { now.0 } else { state.taken_at_us };
        let former_us = if state.window_us == 0 { window_us } else { state.window_us };
        // The newest units of the window before were taken before the start of the window.
        let before_us = (taken_at_us - taken_at_us % former_us).saturating_sub(1);
        let mut current = 0;
        let mut previous = 0;
        for (units, newest_us) in [(state.current, taken_at_us), (state.previous, before_us)] {
            if newest_us >= start_us {
                current += units;
            } else if newest_us + window_us >= start_us {
                previous += units;
            }
        }
        // Before an edit the window was possibly longer or the limit greater: cap counts, so that products stay exact.
        let most = self.count_max();
        View {
            start_us,
            at_us: taken_at_us.max(now.0),
            // While time stands still, at the start of the window.
            elapsed_ms: now.0.saturating_sub(start_us) / 1000,
            current: current.min(most),
            previous: previous.min(most),
            pulled,
        }
    }

    /// The most units of a window whose products with its length are exact.
    const fn count_max(&self) -> u64 {
        EXACT_MAX / self.0.window_ms
    }

    fn used(&self, view: View) -> u64 {
        view.previous * (self.0.window_ms - view.elapsed_ms) / self.0.window_ms + view.current
    }

    /// Milliseconds into a window at which the weight of `previous` has fallen to `room`.
    fn slid_out(&self, previous: u64, room: u64) -> u64 {
        if previous == 0 {
            return 0;
        }
        let still_in = ((room + 1) * self.0.window_ms).div_ceil(previous);
        (self.0.window_ms + 1).saturating_sub(still_in)
    }
}

impl Described for SlidingWindowCounter {
    const TITLE: &'static str = "Sliding window counter";
    const HINT: &'static str =
        "Approximate in any window. Constant memory, so best for high limits.";
    const PARAMETERS: &'static [Parameter] = UnitsPerWindow::PARAMETERS;
}

impl Definition for SlidingWindowCounter {
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

    fn approximation(&self) -> Option<Approximation> {
        Some(Approximation::InWindow { window_ms: self.0.window_ms })
    }

    fn windows(&self) -> Option<Windows<'_>> {
        None
    }

    fn bound(&self) -> Option<Bound> {
        None
    }

    /// The estimate takes requests at the end of a window as evenly spread: at the end of the next window, it counts one
    /// millisecond's share of them.
    fn worst_case(&self, stretch_us: u64, _cost: u64) -> u64 {
        let window_us = self.0.window_us();
        let share = if stretch_us <= window_us { self.0.limit / self.0.window_ms } else { 0 };
        self.0.limit * windows_touched(stretch_us, window_us) - share
    }
}

impl Counting for SlidingWindowCounter {
    type State = PairState;

    fn keeping(self, units: u64) -> Self {
        Self(self.0.keeping(units))
    }

    /// The windows pulled back to the present ones, if a step of the clock left them in the future.
    fn settled(&self, state: &PairState, now: Micros) -> Option<PairState> {
        let view = self.view(*state, now);
        let View { at_us, current, previous, .. } = view;
        view.pulled.then_some(PairState { taken_at_us: at_us, current, previous, ..*state })
    }

    fn wait(&self, state: &PairState, cost: u64, now: Micros) -> Wait {
        if cost > self.0.limit {
            return Wait::Forever;
        }
        let view = self.view(*state, now);
        if self.used(view) + cost <= self.0.limit {
            return Wait::None;
        }
        let elapsed_ms = match self.0.limit.checked_sub(view.current + cost) {
            // Within this window, once enough of the previous one has slid out.
            Some(room) => self.slid_out(view.previous, room).min(self.0.window_ms),
            // In the next window, where the present one is the previous.
            None => {
                let room = self.0.limit - cost;
                self.0.window_ms + self.slid_out(view.current, room).min(self.0.window_ms)
            }
        };
        Wait::Ms(ms_until(view.start_us + elapsed_ms * 1000, now))
    }

    fn charge(&self, state: &mut PairState, cost: u64, now: Micros) {
        let view = self.view(*state, now);
        let current = (view.current + cost).min(self.count_max());
        *state = self.state(View { current, ..view });
    }

    /// Returns units to the windows from which they were taken; to the newest first, if no charge is named.
    fn refund(
        &self,
        state: &mut PairState,
        cost: u64,
        charge: Option<ChargedLimit>,
        now: Micros,
    ) -> bool {
        let window_us = self.0.window_us();
        let view = self.view(*state, now);
        let same_length = state.window_us == window_us || state.window_us == 0;
        let is_same = view.pulled || state.taken_at_us + window_us >= view.start_us;
        if !same_length || !is_same {
            return false;
        }
        let (from_current, from_previous) = match charge {
            None => {
                let from_current = cost.min(view.current);
                (from_current, (cost - from_current).min(view.previous))
            }
            Some(charge) if charge.at.0 > state.taken_at_us => (0, 0),
            Some(charge) if charge.at.0 >= view.start_us => (cost.min(view.current), 0),
            Some(charge) if charge.at.0 + window_us >= view.start_us => {
                (0, cost.min(view.previous))
            }
            Some(_) => (0, 0),
        };
        if from_current + from_previous == 0 {
            return false;
        }
        let current = view.current - from_current;
        let previous = view.previous - from_previous;
        let taken_at_us =
            if view.pulled { view.at_us } else { state.taken_at_us.max(view.start_us) };
        *state = if current + previous == 0 {
            PairState::default()
        } else {
            PairState { taken_at_us, ..self.state(View { current, previous, ..view }) }
        };
        true
    }

    fn level(&self, state: &PairState, now: Micros) -> Level {
        let view = self.view(*state, now);
        let windows = if view.current > 0 { 2 } else { u64::from(view.previous > 0) };
        let reset_us = view.start_us + windows * self.0.window_us();
        Level {
            remaining: self.0.limit.saturating_sub(self.used(view)),
            reset_after_ms: if windows > 0 { ms_until(reset_us, now) } else { 0 },
        }
    }

    fn script_parameters(&self) -> ScriptParameters {
        self.0.script_parameters()
    }
}
