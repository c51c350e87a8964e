//! Counters: the state behind one limit for one subject, and the name it goes by.

use crate::algorithm::{BucketState, LogState, PairState, SpacingState, WindowState};
use crate::id::{RuleId, TenantId};
use crate::subject::SubjectKey;

/// Which counter: never the limit's numbers, so that editing them keeps the counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CounterName {
    /// Whose counter.
    pub tenant: TenantId,
    /// The rule it belongs to.
    pub rule: RuleId,
    /// Which of the rule's counters.
    pub part: CounterPart,
    /// Whom it counts.
    pub subject: SubjectKey,
}

/// Which of a rule's counters for one subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CounterPart {
    /// The counter of the limit in this slot.
    Slot(u16),
    /// Until when the subject is blocked.
    Block,
}

/// State of a counter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Counter {
    /// Never used, or as if never used.
    #[default]
    Untouched,
    /// Of a fixed window or a quota.
    Window(WindowState),
    /// Of a sliding window log.
    Log(LogState),
    /// Of a sliding window counter.
    Pair(PairState),
    /// Of a token or leaky bucket.
    Bucket(BucketState),
    /// Of a spacing.
    Spacing(SpacingState),
    /// Blocked until this time, in microseconds.
    BlockedUntil(u64),
}

macro_rules! state_of {
    ($($name:ident: $variant:ident($state:ty);)+) => {
        impl Counter {$(
            /// Its state as this kind; a counter of another kind is begun anew.
            pub(crate) fn $name(&mut self) -> &mut $state {
                if !matches!(self, Self::$variant(_)) {
                    *self = Self::$variant(<$state>::default());
                }
                match self {
                    Self::$variant(state) => state,
                    _ => unreachable!("made of this kind just above"),
                }
            }
        )+}
    };
}

state_of! {
    window: Window(WindowState);
    log: Log(LogState);
    pair: Pair(PairState);
    bucket: Bucket(BucketState);
    spacing: Spacing(SpacingState);
}
