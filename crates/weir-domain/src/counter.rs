//! Counters: the state behind one limit for one subject, and the name it goes by.

use crate::algorithm::{BucketState, LogState, Meter, PairState, SpacingState, WindowState};
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

/// A compacted log has about so many entries.
const LOG_ENTRIES: u64 = 64;

impl Counter {
    /// Shortens a log of many entries: those of the same sixty-fourth of its window become one, as young as the youngest of
    /// them. It then admits no more than before, and units return at most that much later.
    pub fn compact(&mut self, meter: &Meter) {
        let (Self::Log(state), Meter::SlidingWindowLog(log)) = (self, meter) else { return };
        if state.entries.len() as u64 <= 2 * LOG_ENTRIES {
            return;
        }
        let slot_us = (log.window_ms() * 1000 / LOG_ENTRIES).max(1);
        let entries = std::mem::take(&mut state.entries);
        for entry in entries {
            match state.entries.back_mut() {
                Some(last) if last.at_us / slot_us == entry.at_us / slot_us => {
                    last.cost += entry.cost;
                    last.at_us = last.at_us.max(entry.at_us);
                }
                _ => state.entries.push_back(entry),
            }
        }
    }

    /// How many entries a log has; other counters have none.
    pub fn entries(&self) -> usize {
        if let Self::Log(state) = self { state.entries.len() } else { 0 }
    }
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
