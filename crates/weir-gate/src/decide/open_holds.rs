//! The leases of concurrency limits and the reservations that callers hold by way of this gate.
//!
//! This is an estimate for the metrics. A release by way of another gate is not seen, so such a hold counts until its time has
//! passed, and a gate that starts knows none of those before.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
pub(crate) struct OpenHolds(Mutex<Holds>);

#[derive(Debug, Default)]
struct Holds {
    /// By the random bits of their ids. The leases of one check share them.
    open: HashMap<[u8; 16], Open>,
    /// The time at which those that had ended were removed to make room.
    swept_at: Option<Instant>,
}

#[derive(Debug)]
struct Open {
    count: u64,
    ends: Instant,
}

/// The most ids. Further holds are not counted.
const IDS_MAX: usize = 100_000;
/// The shortest time between two searches for holds that have ended, which look at every id.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

impl OpenHolds {
    /// Adds a hold, or another one with the same id.
    pub(crate) fn opened(&self, id: [u8; 16], ends: Instant, now: Instant) {
        let mut holds = self.lock();
        if holds.open.len() >= IDS_MAX && !holds.open.contains_key(&id) {
            holds.sweep(now);
            if holds.open.len() >= IDS_MAX {
                return;
            }
        }
        let entry = holds.open.entry(id).or_insert(Open { count: 0, ends });
        entry.count += 1;
        entry.ends = entry.ends.max(ends);
    }

    /// Lets the holds of an id end later.
    pub(crate) fn renewed(&self, id: [u8; 16], ends: Instant) {
        if let Some(open) = self.lock().open.get_mut(&id) {
            open.ends = open.ends.max(ends);
        }
    }

    /// Removes one hold of an id.
    pub(crate) fn closed(&self, id: [u8; 16]) {
        let mut holds = self.lock();
        if let Some(entry) = holds.open.get_mut(&id) {
            entry.count -= 1;
            if entry.count == 0 {
                holds.open.remove(&id);
            }
        }
    }

    /// Removes all holds of an id.
    pub(crate) fn closed_all(&self, id: [u8; 16]) {
        self.lock().open.remove(&id);
    }

    /// The number of holds whose time has not passed.
    pub(crate) fn count(&self, now: Instant) -> u64 {
        let mut holds = self.lock();
        holds.open.retain(|_, open| open.ends > now);
        holds.open.values().map(|open| open.count).sum()
    }

    fn lock(&self) -> MutexGuard<'_, Holds> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Holds {
    /// Removes the holds whose time has passed, unless that was done a moment ago.
    fn sweep(&mut self, now: Instant) {
        if self.swept_at.is_none_or(|at| now.saturating_duration_since(at) >= SWEEP_EVERY) {
            self.swept_at = Some(now);
            self.open.retain(|_, open| open.ends > now);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const FIRST: [u8; 16] = [1; 16];
    const SECOND: [u8; 16] = [2; 16];

    #[test]
    fn holds_are_counted_until_they_are_closed_or_their_time_has_passed() {
        let (holds, now) = (OpenHolds::default(), Instant::now());
        let after = |seconds| now + Duration::from_secs(seconds);
        holds.opened(FIRST, after(1), now);
        holds.opened(FIRST, after(1), now);
        holds.opened(SECOND, after(2), now);
        assert_eq!(holds.count(now), 3);
        holds.closed(FIRST);
        assert_eq!(holds.count(now), 2);
        holds.renewed(FIRST, after(5));
        assert_eq!((holds.count(after(2)), holds.count(after(5))), (1, 0));
        holds.opened(SECOND, after(9), now);
        holds.closed_all(SECOND);
        holds.closed(SECOND);
        assert_eq!(holds.count(now), 0);
    }

    #[test]
    fn ids_are_bounded_and_those_that_ended_make_room() {
        let (holds, now) = (OpenHolds::default(), Instant::now());
        let id = |at: usize| (at as u128).to_be_bytes();
        let later = now + Duration::from_secs(1);
        (0..IDS_MAX).for_each(|at| holds.opened(id(at), later, now));
        holds.opened(id(IDS_MAX), later, now);
        assert_eq!(holds.count(now), IDS_MAX as u64);
        let soon = now + Duration::from_millis(999);
        holds.opened(id(IDS_MAX), later, soon);
        assert_eq!(
            holds.lock().swept_at,
            Some(now),
            "a search through all ids follows a second later at the earliest"
        );
        holds.opened(id(IDS_MAX), later + Duration::from_secs(1), later);
        assert_eq!(holds.count(later), 1);
    }
}
