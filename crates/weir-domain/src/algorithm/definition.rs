//! The traits that the file of an algorithm implements: [`Definition`] and [`Described`] for its parameters, [`Counting`]
//! for its counters.

use super::parameter::Parameter;
use super::period::Calendar;
use crate::time::Micros;

/// Facts that the other parts of Weir need of a limit.
pub(crate) trait Definition {
    /// The `limit` of answers: the limit, the capacity, or 1 for spacing.
    fn limit(&self) -> u64;

    /// The `window_ms` of answers; `None` if it varies with the calendar.
    fn window_ms(&self) -> Option<u64>;

    /// Whether units can be returned.
    fn refundable(&self) -> bool;

    /// Whether a rule with this limit can be leased.
    fn leasable(&self) -> bool;

    /// The way in which gates lease units of an approximate rule. `None` if the algorithm permits no approximation.
    fn approximation(&self) -> Option<Approximation> {
        None
    }

    /// Whether denied checks are logged too.
    fn counts_denied(&self) -> bool {
        false
    }

    /// The windows at whose ends all units are available again at once.
    fn windows(&self) -> Option<Windows<'_>>;

    /// The most that the limit admits, if it can be compared with other limits.
    fn bound(&self) -> Option<Bound>;

    /// The most units that any traffic, by requests of this cost, can get through in any half-open stretch of this length.
    fn worst_case(&self, stretch_us: u64, cost: u64) -> u64;

    /// The shortest length that its window ever has.
    fn shortest_window_ms(&self) -> u64 {
        self.window_ms().unwrap_or(1).max(1)
    }

    /// The usual length of its window: that of pictures, and by which an edited limit is found again.
    fn usual_window_ms(&self) -> u64 {
        self.window_ms().unwrap_or(1).max(1)
    }

    /// A sentence on the simplifications of the pictures; empty for most algorithms.
    fn drawing_note(&self) -> &'static str {
        ""
    }
}

/// The words and the form of an algorithm, and its use of Redis.
pub(crate) trait Described {
    /// The name in the dashboard.
    const TITLE: &'static str;
    /// One or two sentences on the use of the algorithm.
    const HINT: &'static str;
    /// The parameters, in the order of the form.
    const PARAMETERS: &'static [Parameter];
    /// Whether its counters have a key of their own in Redis, instead of a field of the subject hash.
    const HAS_OWN_KEY: bool = false;
    /// Whether the script in Redis takes five parameters, instead of three.
    const HAS_FIVE_PARAMETERS: bool = false;
}

/// The arithmetic of a counter. `now` is the time of Redis' clock.
pub(crate) trait Counting {
    /// The state that a counter stores.
    type State;

    /// The same limit for checks that must leave this many units free: each passes exactly if its cost and these units together
    /// would pass. Counters, and what a charge does to them, stay the same.
    #[must_use]
    fn keeping(self, units: u64) -> Self
    where
        Self: Sized;

    /// The state to store after a step of the clock left the state in the future. `None` means that the state stays.
    fn settled(&self, state: &Self::State, now: Micros) -> Option<Self::State>;

    /// Whether a charge of `cost` passes at `now`, and if not, when it could.
    fn wait(&self, state: &Self::State, cost: u64, now: Micros) -> Wait;

    /// Takes `cost`, even if that is more than is left.
    fn charge(&self, state: &mut Self::State, cost: u64, now: Micros);

    /// Logs a charge that was denied, where the limit counts denials.
    fn log_denied(&self, _state: &mut Self::State, _cost: u64, _now: Micros) {}

    /// Returns `cost` units, never above full; those of a charge only to the window, bucket or entry that was charged. Returns
    /// whether any units were returned.
    fn refund(
        &self,
        state: &mut Self::State,
        cost: u64,
        charge: Option<ChargedLimit>,
        now: Micros,
    ) -> bool;

    /// The units that are left, and the time until the counter is as if never used.
    fn level(&self, state: &Self::State, now: Micros) -> Level;

    /// The time that a charge admitted at `now` must wait before it acts, in milliseconds.
    fn delay_ms(&self, _state: &Self::State, _now: Micros) -> u64 {
        0
    }

    /// Shrinks a state that takes much memory. The state then admits no more than before.
    fn compact(&self, _state: &mut Self::State) {}

    /// The parameters as the script in Redis takes them.
    fn script_parameters(&self) -> ScriptParameters;

    /// The time in which these parameters hold, in microseconds. `None` means always.
    fn valid_us(&self) -> Option<(u64, u64)> {
        None
    }
}

/// The charge of a limit that a refund names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChargedLimit {
    /// The time of the charge.
    pub at: Micros,
    /// Of a token bucket: a bound below its level after the charge, in the unit of the script's third parameter. 0 if it is not
    /// known.
    pub level: u64,
}

/// The time after which a charge passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// The charge passes now.
    None,
    /// The charge passes after this many milliseconds and not one earlier, if nothing else happens.
    Ms(u64),
    /// The charge never passes, because it costs more than the limit.
    Forever,
}

/// The level of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// Whole units left.
    pub remaining: u64,
    /// Milliseconds until the counter is as if never used.
    pub reset_after_ms: u64,
}

/// Windows that follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Windows<'a> {
    /// Windows of this length, aligned to the epoch.
    Aligned {
        /// The length in milliseconds.
        window_ms: u64,
    },
    /// The periods of a calendar.
    Calendar(&'a Calendar),
}

/// The way in which gates lease units of an approximate rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approximation {
    /// Units of one aligned window, used before it ends. They admit no more than Redis would.
    InWindow {
        /// The length of the windows in milliseconds.
        window_ms: u64,
    },
    /// Tokens beside the bucket, which refills meanwhile. They can be admitted in addition to its capacity.
    BesideBucket,
}

/// The most that a limit admits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Units in any window of this length.
    AnyWindow {
        /// The units.
        limit: u64,
        /// The length in milliseconds.
        window_ms: u64,
    },
    /// Units in each window of this length that is aligned to the epoch.
    AlignedWindow {
        /// The units.
        limit: u64,
        /// The length in milliseconds.
        window_ms: u64,
    },
    /// One request in any interval of this length.
    Distance {
        /// The length in milliseconds.
        interval_ms: u64,
    },
}

/// The parameters of a limit in a call of the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptParameters {
    /// The parameters of most algorithms.
    Three([u64; 3]),
    /// The parameters of an algorithm that has five.
    Five([u64; 5]),
}

impl ScriptParameters {
    /// The numbers in order.
    pub fn as_slice(&self) -> &[u64] {
        match self {
            Self::Three(numbers) => numbers,
            Self::Five(numbers) => numbers,
        }
    }
}

/// One gate's part of a limit; at least one unit.
pub(super) fn part(limit: u64, gates: u64) -> u64 {
    (limit / gates.max(1)).max(1)
}

/// The most consecutive windows that a stretch can touch.
pub(super) fn windows_touched(stretch_us: u64, window_us: u64) -> u64 {
    (stretch_us - 1).div_ceil(window_us) + 1
}
