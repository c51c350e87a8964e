//! The effect of a clock that can step back on counters.
//!
//! Every counter carries a stamp, the newest time in its state. Redis' clock can step back. A stamp up to [`SLACK_US`]
//! ahead of the clock holds, and time stands still for that counter. So does the start of the next window, up to
//! [`STEP_US`] ahead. A stamp further ahead is pulled back to the clock (that of a window to the present window) and the
//! counted units stay: nothing more is admitted, and no caller waits longer than the limit says.

use crate::time::Micros;

/// The most by which a counter's stamp can be ahead of the clock and still hold.
pub const SLACK_US: u64 = 1_000_000;
/// The most by which the start of the next window can be ahead of the clock and still hold.
pub const STEP_US: u64 = 60_000_000;

/// The stamp by this clock: one that is too far ahead is pulled back to `now`.
pub(super) fn pulled_back(stamp_us: u64, now: Micros) -> u64 {
    if stamp_us > now.0 + SLACK_US { now.0 } else { stamp_us }
}

/// The time for a counter of windows that begins at `start_us`: its start, while that is ahead of the clock by little or in
/// the window after the one that ends at `stop_us`; else `now`. Also whether the start must be pulled back.
pub(super) fn window_time(start_us: u64, stop_us: u64, now: Micros) -> (u64, bool) {
    let near = start_us <= now.0 + SLACK_US;
    let next = start_us <= stop_us && start_us <= now.0 + STEP_US;
    if near || next { (start_us.max(now.0), false) } else { (now.0, true) }
}

/// Milliseconds from `now` until `at_us`, rounded up.
pub(super) fn ms_until(at_us: u64, now: Micros) -> u64 {
    at_us.saturating_sub(now.0).div_ceil(1000)
}
