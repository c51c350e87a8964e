//! Counters: the states in which the algorithms keep what was taken.

use super::{BucketState, LeasesState, LogState, PairState, SpacingState, WindowState};

/// Makes the type of all counters.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident($state:ident);)+) => {
        /// The state of a counter.
        #[derive(Debug, Clone, PartialEq, Eq, Default)]
        pub enum Counter {
            /// The counter was never used, or is as if never used.
            #[default]
            Untouched,
            /// The subject is blocked.
            BlockedUntil {
                /// The end of the block, in microseconds.
                until_us: u64,
                /// The number of the block among those that follow one another, from 1; 0 if all have one length.
                number: u64,
            },
            $($(#[$doc])* $name($state),)+
        }

        $(impl Stored for $state {
            fn of(counter: &mut Counter) -> &mut Self {
                if !matches!(counter, Counter::$name(_)) {
                    *counter = Counter::$name(Self::default());
                }
                match counter {
                    Counter::$name(state) => state,
                    _ => unreachable!("made of this kind just above"),
                }
            }
        })+
    };
}

counters! {
    /// The state of a fixed window or a quota.
    Window(WindowState);
    /// The state of a sliding window log.
    Log(LogState);
    /// The state of a sliding window counter.
    Pair(PairState);
    /// The state of a token bucket or a leaky bucket.
    Bucket(BucketState);
    /// The state of a spacing.
    Spacing(SpacingState);
    /// The state of a concurrency limit.
    Leases(LeasesState);
}

/// A state that a [`Counter`] can hold.
pub(super) trait Stored: Default {
    /// The state of a counter; a counter of another kind counts as untouched.
    fn of(counter: &mut Counter) -> &mut Self;
}

impl Counter {
    pub(super) fn state<S: Stored>(&mut self) -> &mut S {
        S::of(self)
    }

    /// The number of entries of a log; 0 for other counters.
    pub fn entries(&self) -> usize {
        if let Self::Log(state) = self { state.entries.len() } else { 0 }
    }
}
