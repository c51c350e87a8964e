//! The seven algorithms as pure functions: (counter, cost, now) → may it pass, what is left.
//!
//! Each has a twin of the same name in the Redis script; both use the same integer arithmetic, so
//! they agree to the unit and to the millisecond. The pattern is the same in every file:
//!
//! - `wait`: may a charge of this cost pass now, and if not, when could it;
//! - `charge`: the counter afterwards;
//! - `refund`: the counter after units are given back;
//! - `level`: what is left, and when the counter is as if never used.
//!
//! **Time.** Every counter carries the newest time it knows, its stamp. Redis' clock can step back. A stamp up to
//! [`SLACK_US`] ahead of the clock holds, and time stands still for that counter. So does the start of the next window,
//! up to [`STEP_US`] ahead. A stamp further ahead is pulled back to the clock (that of a window to the present window) and
//! what was counted stays: nothing more is admitted, and nobody waits longer than the limit says.

mod bucket;
mod fixed_window;
mod leaky_bucket;
mod quota;
mod sliding_window_counter;
mod sliding_window_log;
mod spacing;
mod token_bucket;

pub use bucket::BucketState;
pub use fixed_window::{FixedWindow, WindowState};
pub use leaky_bucket::LeakyBucket;
pub use quota::{Calendar, Period, PeriodBounds, Quota};
pub use sliding_window_counter::{PairState, SlidingWindowCounter};
pub use sliding_window_log::{LogState, SlidingWindowLog};
pub use spacing::{Spacing, SpacingState};
pub use token_bucket::TokenBucket;

use crate::counter::Counter;
use crate::time::Micros;

/// How far a counter's stamp may lie ahead of the clock and still be believed.
pub const SLACK_US: u64 = 1_000_000;
/// How far the start of the next window may lie ahead of the clock and still be believed.
pub const STEP_US: u64 = 60_000_000;

/// How a limit limits, with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Algorithm {
    /// So many units in each window aligned to the epoch.
    FixedWindow(FixedWindow),
    /// So many units in any window, exactly, by a log of what was admitted.
    SlidingWindowLog(SlidingWindowLog),
    /// So many units in any window, estimated from two aligned windows.
    SlidingWindowCounter(SlidingWindowCounter),
    /// A bucket of tokens that refills continuously.
    TokenBucket(TokenBucket),
    /// A queue that drains continuously; admitted requests are told how long to wait.
    LeakyBucket(LeakyBucket),
    /// A least distance between admitted requests.
    Spacing(Spacing),
    /// So many units in each day, week, month or year of a time zone.
    Quota(Quota),
}

/// An algorithm ready to judge: a quota comes with the bounds of its periods around now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meter {
    /// See [`Algorithm::FixedWindow`].
    FixedWindow(FixedWindow),
    /// See [`Algorithm::SlidingWindowLog`].
    SlidingWindowLog(SlidingWindowLog),
    /// See [`Algorithm::SlidingWindowCounter`].
    SlidingWindowCounter(SlidingWindowCounter),
    /// See [`Algorithm::TokenBucket`].
    TokenBucket(TokenBucket),
    /// See [`Algorithm::LeakyBucket`].
    LeakyBucket(LeakyBucket),
    /// See [`Algorithm::Spacing`].
    Spacing(Spacing),
    /// The limit of a quota and its period bounds.
    Quota(PeriodBounds),
}

/// Whether a charge may pass, and if not, when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// It may pass now.
    None,
    /// It could pass after this many milliseconds and not one earlier, if nothing else happens.
    Ms(u64),
    /// It can never pass: it costs more than the limit.
    Forever,
}

/// What a counter says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// Whole units left.
    pub remaining: u64,
    /// Milliseconds until the counter is as if never used.
    pub reset_after_ms: u64,
}

impl Algorithm {
    /// The word used in JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::FixedWindow(_) => "fixed_window",
            Self::SlidingWindowLog(_) => "sliding_window_log",
            Self::SlidingWindowCounter(_) => "sliding_window_counter",
            Self::TokenBucket(_) => "token_bucket",
            Self::LeakyBucket(_) => "leaky_bucket",
            Self::Spacing(_) => "spacing",
            Self::Quota(_) => "quota",
        }
    }

    /// Its place in the documentation, from 1.
    pub const fn ordinal(&self) -> u16 {
        match self {
            Self::FixedWindow(_) => 1,
            Self::SlidingWindowLog(_) => 2,
            Self::SlidingWindowCounter(_) => 3,
            Self::TokenBucket(_) => 4,
            Self::LeakyBucket(_) => 5,
            Self::Spacing(_) => 6,
            Self::Quota(_) => 7,
        }
    }

    /// What answers call `limit`: the limit, the capacity, or 1 for spacing.
    pub const fn limit(&self) -> u64 {
        match self {
            Self::FixedWindow(it) => it.limit(),
            Self::SlidingWindowLog(it) => it.limit(),
            Self::SlidingWindowCounter(it) => it.limit(),
            Self::TokenBucket(it) => it.capacity(),
            Self::LeakyBucket(it) => it.capacity(),
            Self::Spacing(_) => 1,
            Self::Quota(it) => it.limit(),
        }
    }

    /// What answers call `window_ms`, for every algorithm but the quota, whose period varies.
    pub fn window_ms(&self) -> Option<u64> {
        match self {
            Self::FixedWindow(it) => Some(it.window_ms()),
            Self::SlidingWindowLog(it) => Some(it.window_ms()),
            Self::SlidingWindowCounter(it) => Some(it.window_ms()),
            Self::TokenBucket(it) => Some(it.full_after_ms()),
            Self::LeakyBucket(it) => Some(it.empty_after_ms()),
            Self::Spacing(it) => Some(it.interval_ms()),
            Self::Quota(_) => None,
        }
    }

    /// Whether units can be given back: not to logs of denials nor to leaky buckets.
    pub const fn refundable(&self) -> bool {
        match self {
            Self::SlidingWindowLog(it) => !it.counts_denied(),
            Self::LeakyBucket(_) => false,
            _ => true,
        }
    }

    /// The meter of this algorithm; `bounds` resolves a quota's calendar and is asked only for one.
    pub fn meter(&self, bounds: impl FnOnce(&Quota) -> PeriodBounds) -> Meter {
        match self {
            Self::FixedWindow(it) => Meter::FixedWindow(*it),
            Self::SlidingWindowLog(it) => Meter::SlidingWindowLog(*it),
            Self::SlidingWindowCounter(it) => Meter::SlidingWindowCounter(*it),
            Self::TokenBucket(it) => Meter::TokenBucket(*it),
            Self::LeakyBucket(it) => Meter::LeakyBucket(*it),
            Self::Spacing(it) => Meter::Spacing(*it),
            Self::Quota(it) => Meter::Quota(bounds(it)),
        }
    }
}

/// Calls one function on a meter and the state of its counter; a counter of another kind counts
/// as untouched.
macro_rules! on_state {
    ($meter:expr, $counter:expr, |$it:ident, $state:ident| $call:expr) => {
        match $meter {
            Meter::FixedWindow($it) => {
                let $state = $counter.window();
                $call
            }
            Meter::Quota($it) => {
                let $state = $counter.window();
                $call
            }
            Meter::SlidingWindowLog($it) => {
                let $state = $counter.log();
                $call
            }
            Meter::SlidingWindowCounter($it) => {
                let $state = $counter.pair();
                $call
            }
            Meter::TokenBucket($it) => {
                let $state = $counter.bucket();
                $call
            }
            Meter::LeakyBucket($it) => {
                let $state = $counter.bucket();
                $call
            }
            Meter::Spacing($it) => {
                let $state = $counter.spacing();
                $call
            }
        }
    };
}

impl Meter {
    /// Pulls back a counter that a step of the clock left in the future. Returns whether the counter changed.
    pub fn follow_clock(&self, counter: &mut Counter, now: Micros) -> bool {
        if matches!(counter, Counter::Untouched) {
            return false;
        }
        on_state!(self, counter, |it, state| {
            let settled = it.settled(state, now);
            let changed = settled.is_some();
            if let Some(settled) = settled {
                *state = settled;
            }
            changed
        })
    }

    /// May a charge of `cost` pass at `now`, and if not, when could it.
    pub fn wait(&self, counter: &mut Counter, cost: u64, now: Micros) -> Wait {
        on_state!(self, counter, |it, state| it.wait(state, cost, now))
    }

    /// Takes `cost`, which [`Meter::wait`] found to pass.
    pub fn charge(&self, counter: &mut Counter, cost: u64, now: Micros) {
        on_state!(self, counter, |it, state| it.charge(state, cost, now));
    }

    /// Logs a charge that was denied, where the limit asks for that.
    pub fn log_denied(&self, counter: &mut Counter, cost: u64, now: Micros) {
        if let Self::SlidingWindowLog(it) = self {
            it.log_denied(counter.log(), cost, now);
        }
    }

    /// Gives `cost` units back, never above full. Does nothing where that is not possible.
    pub fn refund(&self, counter: &mut Counter, cost: u64, now: Micros) {
        match self {
            Self::FixedWindow(it) => it.refund(counter.window(), cost, now),
            Self::Quota(it) => it.refund(counter.window(), cost, now),
            Self::SlidingWindowLog(it) => it.refund(counter.log(), cost, now),
            Self::SlidingWindowCounter(it) => it.refund(counter.pair(), cost, now),
            Self::TokenBucket(it) => it.refund(counter.bucket(), cost, now),
            Self::LeakyBucket(_) => {}
            Self::Spacing(it) => it.refund(counter.spacing()),
        }
    }

    /// What is left and when the counter is as if never used.
    pub fn level(&self, counter: &mut Counter, now: Micros) -> Level {
        on_state!(self, counter, |it, state| it.level(state, now))
    }

    /// How long a charge admitted at `now` must wait before it acts, in milliseconds.
    pub fn delay_ms(&self, counter: &mut Counter, now: Micros) -> u64 {
        match self {
            Self::LeakyBucket(it) => it.delay_ms(counter.bucket(), now),
            _ => 0,
        }
    }

    /// Whether denied checks are logged too.
    pub const fn counts_denied(&self) -> bool {
        matches!(self, Self::SlidingWindowLog(it) if it.counts_denied())
    }
}

/// The stamp by this clock: one that is too far ahead is pulled back to `now`.
fn pulled_back(stamp_us: u64, now: Micros) -> u64 {
    if stamp_us > now.0 + SLACK_US { now.0 } else { stamp_us }
}

/// Milliseconds from `now` until `at_us`, rounded up.
fn ms_until(at_us: u64, now: Micros) -> u64 {
    at_us.saturating_sub(now.0).div_ceil(1000)
}

#[cfg(test)]
mod tests;
