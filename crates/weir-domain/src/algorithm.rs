//! The eight algorithms as pure functions of a counter, a cost and a time, which return a decision and the units left.
//!
//! Everything that is specific to an algorithm is in its file: the bounds of its parameters, its arithmetic, its names, its
//! pictures in the dashboard, and its uses in a gate. `definition` has the traits that such a file implements; the list at
//! the end of this file is the only list of algorithms, from which all types that enumerate them are made.
//!
//! Each algorithm has a twin of the same name in the Redis script. Both use the same integer arithmetic, so they agree to
//! the unit and to the millisecond. `clock` defines the effect of a step of Redis' clock on counters.

pub(crate) mod bounds;
mod bucket;
mod clock;
mod concurrency;
mod counter;
mod definition;
mod fixed_window;
mod leaky_bucket;
mod parameter;
mod period;
mod quota;
mod sliding_window_counter;
mod sliding_window_log;
mod spacing;
mod token_bucket;
mod window;

pub use bucket::{Bucket, BucketState};
pub use clock::{SLACK_US, STEP_US};
pub use concurrency::{Concurrency, LeaseId, LeasesState};
pub use counter::Counter;
pub use definition::{Approximation, Bound, ChargedLimit, Level, ScriptParameters, Wait, Windows};
pub use fixed_window::FixedWindow;
pub use leaky_bucket::LeakyBucket;
pub use parameter::{Input, Parameter};
#[cfg(feature = "calendar")]
pub(crate) use period::time_zone;
pub use period::{Calendar, NEVER_US, Period};
pub use quota::{PeriodBounds, Quota};
pub use sliding_window_counter::{PairState, SlidingWindowCounter};
pub use sliding_window_log::{LogState, REFUNDED_ENTRIES_MAX, SlidingWindowLog};
pub use spacing::{Spacing, SpacingState};
pub use token_bucket::TokenBucket;
pub use window::WindowState;

use crate::time::{Micros, Timestamp};
use bounds::InvalidLimit;
use definition::{Counting, Definition, Described};
use parameter::FromNumber;

/// Makes the types that enumerate the algorithms.
macro_rules! algorithms {
    ($(
        $(#[$doc:meta])*
        $name:ident in $module:ident = $number:literal, metered by $meter:ident,
        written as { $($parameter:ident: $type:ty),+ };
    )+) => {
        /// An algorithm, without parameters.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Kind { $($(#[$doc])* $name = $number,)+ }

        /// A limit as a tenant wrote it, not yet checked.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the fields are the algorithms' parameters, documented in their files")]
        pub enum LimitDraft { $($(#[$doc])* $name { $($parameter: $type),+ },)+ }

        /// An algorithm with its parameters.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum Algorithm { $($(#[$doc])* $name($name),)+ }

        /// An algorithm ready to judge: a quota comes with the bounds of its periods around now.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Meter { $($(#[$doc])* $name($meter),)+ }

        impl Kind {
            /// All kinds, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The name in JSON.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($module),)+ }
            }

            /// The name in the dashboard.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $name::TITLE,)+ }
            }

            /// One or two sentences on the use of the algorithm.
            pub const fn hint(self) -> &'static str {
                match self { $(Self::$name => $name::HINT,)+ }
            }

            /// The parameters, in the order of a form.
            pub const fn parameters(self) -> &'static [Parameter] {
                match self { $(Self::$name => $name::PARAMETERS,)+ }
            }

            /// Whether its counters have a key of their own in Redis, instead of a field of the subject hash.
            pub const fn has_own_key(self) -> bool {
                match self { $(Self::$name => $name::HAS_OWN_KEY,)+ }
            }

            /// Whether the script in Redis takes five parameters of it, instead of three.
            pub const fn has_five_parameters(self) -> bool {
                match self { $(Self::$name => $name::HAS_FIVE_PARAMETERS,)+ }
            }
        }

        impl LimitDraft {
            /// The algorithm.
            pub const fn kind(&self) -> Kind {
                match self { $(Self::$name { .. } => Kind::$name,)+ }
            }

            /// The limit in words, whether or not it is valid.
            pub fn describe(&self) -> String {
                match self { $(Self::$name { $($parameter),+ } => $name::describe($($parameter),+),)+ }
            }

            /// A limit with a number for each parameter, for tests that draw limits of all kinds. For a parameter that is
            /// not a number, the number chooses one of its values.
            pub fn from_numbers(kind: Kind, mut number: impl FnMut(&Parameter) -> u64) -> Self {
                let mut number = |name| {
                    let parameter = kind.parameters().iter().find(|parameter| parameter.name == name);
                    number(parameter.expect("every parameter is listed"))
                };
                match kind {
                    $(Kind::$name => Self::$name {
                        $($parameter: <$type>::from_number(number(stringify!($parameter))),)+
                    },)+
                }
            }
        }

        impl Algorithm {
            /// Checks the parameters of a limit.
            pub fn parse(draft: LimitDraft) -> Result<Self, InvalidLimit> {
                match draft {
                    $(LimitDraft::$name { $($parameter),+ } => $name::new($($parameter),+).map(Self::$name),)+
                }
            }

            /// The algorithm, without parameters.
            pub const fn kind(&self) -> Kind {
                match self { $(Self::$name(_) => Kind::$name,)+ }
            }

            /// One gate's share of the limit, while gates decide without Redis. The whole limit if a share could not be
            /// counted exactly.
            #[must_use]
            pub fn share(&self, gates: u64) -> Self {
                let shared = match self { $(Self::$name(own) => own.share(gates).map(Self::$name),)+ };
                shared.unwrap_or_else(|_| self.clone())
            }

            fn definition(&self) -> &dyn Definition {
                match self { $(Self::$name(own) => own,)+ }
            }
        }

        impl Meter {
            /// Pulls back a counter that a step of the clock left in the future. Returns whether the counter changed.
            pub fn follow_clock(&self, counter: &mut Counter, now: Micros) -> bool {
                if matches!(counter, Counter::Untouched) {
                    return false;
                }
                match self { $(Self::$name(meter) => settle(meter, counter.state(), now),)+ }
            }

            /// The same limit for checks that must leave this many units free. Counters stay the same.
            #[must_use]
            pub fn keeping(self, units: u64) -> Self {
                match self { $(Self::$name(meter) => Self::$name(Counting::keeping(meter, units)),)+ }
            }

            /// Whether a charge of `cost` passes at `now`, and if not, when it could.
            pub fn wait(&self, counter: &mut Counter, cost: u64, now: Micros) -> Wait {
                match self { $(Self::$name(meter) => meter.wait(counter.state(), cost, now),)+ }
            }

            /// Takes `cost`, even if that is more than is left.
            pub fn charge(&self, counter: &mut Counter, cost: u64, now: Micros) {
                match self { $(Self::$name(meter) => meter.charge(counter.state(), cost, now),)+ }
            }

            /// Logs a charge that was denied, where the limit counts denials.
            pub fn log_denied(&self, counter: &mut Counter, cost: u64, now: Micros) {
                match self { $(Self::$name(meter) => meter.log_denied(counter.state(), cost, now),)+ }
            }

            /// Returns `cost` units, never above full; those of a charge only to the window, bucket or entry that was
            /// charged. Returns whether any units were returned.
            pub fn refund(
                &self,
                counter: &mut Counter,
                cost: u64,
                charge: Option<ChargedLimit>,
                now: Micros,
            ) -> bool {
                match self {
                    $(Self::$name(meter) => meter.refund(counter.state(), cost, charge, now),)+
                }
            }

            /// The units that are left, and the time until the counter is as if never used.
            pub fn level(&self, counter: &mut Counter, now: Micros) -> Level {
                match self { $(Self::$name(meter) => meter.level(counter.state(), now),)+ }
            }

            /// The time that a charge admitted at `now` must wait before it acts, in milliseconds.
            pub fn delay_ms(&self, counter: &mut Counter, now: Micros) -> u64 {
                match self { $(Self::$name(meter) => meter.delay_ms(counter.state(), now),)+ }
            }

            /// Shrinks a counter that takes much memory. The counter then admits no more than before.
            pub fn compact(&self, counter: &mut Counter) {
                match self { $(Self::$name(meter) => meter.compact(counter.state()),)+ }
            }

            /// The parameters as the script in Redis takes them.
            pub fn script_parameters(&self) -> ScriptParameters {
                match self { $(Self::$name(meter) => meter.script_parameters(),)+ }
            }

            /// The time in which the parameters hold, in microseconds. `None` means always.
            pub fn valid_us(&self) -> Option<(u64, u64)> {
                match self { $(Self::$name(meter) => meter.valid_us(),)+ }
            }
        }
    };
}

algorithms! {
    /// A number of units in each window aligned to the epoch.
    FixedWindow in fixed_window = 1, metered by FixedWindow,
    written as { limit: u64, window_ms: u64 };
    /// A number of units in any window, exactly, by a log of admitted requests.
    SlidingWindowLog in sliding_window_log = 2, metered by SlidingWindowLog,
    written as { limit: u64, window_ms: u64, count_denied: bool };
    /// A number of units in any window, estimated from two aligned windows.
    SlidingWindowCounter in sliding_window_counter = 3, metered by SlidingWindowCounter,
    written as { limit: u64, window_ms: u64 };
    /// A bucket of tokens that refills continuously.
    TokenBucket in token_bucket = 4, metered by TokenBucket,
    written as { capacity: u64, refill_tokens: u64, refill_interval_ms: u64 };
    /// A queue that drains continuously. The answer to an admitted request contains its delay.
    LeakyBucket in leaky_bucket = 5, metered by LeakyBucket,
    written as { capacity: u64, drain_units: u64, drain_interval_ms: u64 };
    /// A minimum distance between admitted requests.
    Spacing in spacing = 6, metered by Spacing,
    written as { interval_ms: u64 };
    /// A number of units in each day, week, month or year of a time zone, or for ever.
    Quota in quota = 7, metered by PeriodBounds,
    written as { limit: u64, period: Period, time_zone: String, anchor_day: u16, ends_at: Option<Timestamp> };
    /// A number of leases that are held at the same time.
    Concurrency in concurrency = 8, metered by Concurrency,
    written as { capacity: u64, lease_ms: u64 };
}

impl Kind {
    /// The number of the kind in the Redis script, and its place in the documentation.
    pub const fn number(self) -> u16 {
        self as u16
    }
}

impl Algorithm {
    /// The name in JSON.
    pub const fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// The `limit` of answers: the limit, the capacity, or 1 for spacing.
    pub fn limit(&self) -> u64 {
        self.definition().limit()
    }

    /// The `window_ms` of answers. `None` for a quota, because its period varies.
    pub fn window_ms(&self) -> Option<u64> {
        self.definition().window_ms()
    }

    /// Whether units can be returned. Logs of denials and leaky buckets take no units back.
    pub fn refundable(&self) -> bool {
        self.definition().refundable()
    }

    /// Whether a rule with this limit can have the consistency `leased`.
    pub fn leasable(&self) -> bool {
        self.definition().leasable()
    }

    /// The way in which gates lease units of an approximate rule. `None` if the algorithm permits no approximation.
    pub fn approximation(&self) -> Option<Approximation> {
        self.definition().approximation()
    }

    /// Whether denied checks are logged too.
    pub fn counts_denied(&self) -> bool {
        self.definition().counts_denied()
    }

    /// The windows at whose ends all units are available again at once. Gates lease only units of such limits.
    pub fn windows(&self) -> Option<Windows<'_>> {
        self.definition().windows()
    }

    /// The most that the limit admits, if it can be compared with other limits.
    pub fn bound(&self) -> Option<Bound> {
        self.definition().bound()
    }

    /// Whether its counters have a key of their own in Redis, instead of a field of the subject hash.
    pub fn has_own_key(&self) -> bool {
        self.kind().has_own_key()
    }

    /// The most units that any traffic, by requests of this cost, can get through in any half-open stretch of this length.
    pub fn worst_case(&self, stretch_us: u64, cost: u64) -> u64 {
        self.definition().worst_case(stretch_us, cost)
    }

    /// The shortest length that its window ever has.
    pub fn shortest_window_ms(&self) -> u64 {
        self.definition().shortest_window_ms()
    }

    /// The time after which a lease of a concurrency limit ends by itself. `None` for other limits.
    pub fn lease_ms(&self) -> Option<u64> {
        if let Self::Concurrency(own) = self { Some(own.lease_ms()) } else { None }
    }

    /// The usual length of its window: that of pictures, and by which an edited limit is found again.
    pub fn usual_window_ms(&self) -> u64 {
        self.definition().usual_window_ms()
    }

    /// A sentence on the simplifications of the pictures; empty for most algorithms.
    pub fn drawing_note(&self) -> &'static str {
        self.definition().drawing_note()
    }

    /// The meter of this algorithm; `bounds` resolves the calendar of a quota.
    pub fn meter(&self, bounds: impl FnOnce(&Quota) -> PeriodBounds) -> Meter {
        match self {
            Self::FixedWindow(own) => Meter::FixedWindow(*own),
            Self::SlidingWindowLog(own) => Meter::SlidingWindowLog(*own),
            Self::SlidingWindowCounter(own) => Meter::SlidingWindowCounter(*own),
            Self::TokenBucket(own) => Meter::TokenBucket(*own),
            Self::LeakyBucket(own) => Meter::LeakyBucket(*own),
            Self::Spacing(own) => Meter::Spacing(*own),
            Self::Quota(own) => Meter::Quota(bounds(own)),
            Self::Concurrency(own) => Meter::Concurrency(*own),
        }
    }
}

impl Meter {
    /// Takes `cost` as [`Self::charge`] does, under the id of the check if the limit gives leases.
    pub(crate) fn take(&self, counter: &mut Counter, cost: u64, id: Option<LeaseId>, now: Micros) {
        match self {
            Self::Concurrency(meter) => meter.acquire(counter.state(), id, now),
            _ => self.charge(counter, cost, now),
        }
    }

    /// Ends the leases with this id, if the limit gives leases. Returns whether there are any.
    pub(crate) fn end_leases(&self, counter: &mut Counter, id: LeaseId, now: Micros) -> bool {
        matches!(self, Self::Concurrency(_)) && Concurrency::end(counter.state(), id, now)
    }

    /// Whether denied checks are logged too.
    pub fn counts_denied(&self) -> bool {
        matches!(self, Self::SlidingWindowLog(log) if log.counts_denied())
    }
}

fn settle<C: Counting>(meter: &C, state: &mut C::State, now: Micros) -> bool {
    let settled = meter.settled(state, now);
    let changed = settled.is_some();
    if let Some(settled) = settled {
        *state = settled;
    }
    changed
}

#[cfg(test)]
mod tests;
