//! The window to which leased units belong, and the time for which they can be used and returned.

use std::time::{Duration, Instant};

use weir_domain::algorithm::{Algorithm, Approximation};
use weir_domain::time::Micros;

/// The window to which units belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeaseWindow {
    /// The time by Redis' clock from which units cannot be returned.
    pub(crate) ends: Micros,
    /// The time by this gate's clock from which units are not used.
    pub(crate) until: Instant,
    /// The time at which Redis gave the units, by its clock.
    pub(crate) taken_at: Micros,
    /// The number of resets before the units were taken.
    pub(crate) resets: u64,
}

/// The time for which a call is repeated: half as long as Redis stores its idempotency key.
pub(super) const TRIED_FOR: Duration = Duration::from_secs(30);
/// Redis' times are whole milliseconds, rounded up, and two clocks differ slightly in speed.
const CLOCK_MARGIN: Duration = Duration::from_millis(2);
/// In the last seconds of a window of a sliding window counter, units are only returned: after it they would stay counted.
const RETURNED_BEFORE: Duration = Duration::from_secs(2);
/// The longest time for which units of a bucket are used.
const BUCKET_LASTS: Duration = Duration::from_secs(10);
/// Units of a bucket can always be returned.
const NEVER: Micros = Micros(1 << 52);

impl LeaseWindow {
    /// The end of a window by Redis' clock. A decision at `at` said that the window ends after `reset_after_ms`, which is
    /// rounded up; windows end with a whole millisecond.
    pub(crate) fn end(at: Micros, reset_after_ms: u64) -> Micros {
        Micros((at.0 + reset_after_ms * 1000) / 1000 * 1000)
    }

    /// The time by Redis' clock from which units that it gave at `at` cannot be returned.
    pub(super) fn ends(algorithm: &Algorithm, at: Micros, reset_after_ms: u64) -> Micros {
        match algorithm.approximation() {
            None => Self::end(at, reset_after_ms),
            // Such a counter is as if unused at the end of the next window.
            Some(Approximation::InWindow { window_ms }) => {
                Self::end(at, reset_after_ms.saturating_sub(window_ms))
            }
            Some(Approximation::BesideBucket) => NEVER,
        }
    }

    /// The time after the request for units in which they are used.
    pub(super) fn lasts(algorithm: &Algorithm, reset_after_ms: u64) -> Duration {
        let until_end = |ms| Duration::from_millis(ms).saturating_sub(CLOCK_MARGIN);
        match algorithm.approximation() {
            None => until_end(reset_after_ms),
            Some(Approximation::InWindow { window_ms }) => {
                until_end(reset_after_ms.saturating_sub(window_ms)).saturating_sub(RETURNED_BEFORE)
            }
            Some(Approximation::BesideBucket) => BUCKET_LASTS,
        }
    }

    /// The time in which unused units can be returned after they were last usable.
    pub(super) fn returned_for(algorithm: &Algorithm) -> Duration {
        match algorithm.approximation() {
            None => Duration::ZERO,
            Some(Approximation::InWindow { .. }) => RETURNED_BEFORE,
            Some(Approximation::BesideBucket) => TRIED_FOR,
        }
    }
}
