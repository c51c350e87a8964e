//! The leases of concurrency limits and the reservations that callers hold by way of this gate.
//!
//! This is an estimate for the metrics. A release by way of another gate is not seen, so such a hold counts until its time has
//! passed, and a gate that starts knows none of those before.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Holds, by the random bits of their ids. The leases of one check share them.
#[derive(Debug, Default)]
pub(crate) struct OpenHolds(Mutex<HashMap<[u8; 16], Open>>);

#[derive(Debug)]
struct Open {
    count: u64,
    ends: Instant,
}

/// The most ids. Further holds are not counted.
const IDS_MAX: usize = 100_000;

impl OpenHolds {
    /// Adds a hold, or another one with the same id.
    pub(crate) fn opened(&self, id: [u8; 16], ends: Instant, now: Instant) {
        let mut open = self.open();
        if open.len() >= IDS_MAX && !open.contains_key(&id) {
            open.retain(|_, open| open.ends > now);
            if open.len() >= IDS_MAX {
                return;
            }
        }
        let entry = open.entry(id).or_insert(Open { count: 0, ends });
        entry.count += 1;
        entry.ends = entry.ends.max(ends);
    }

    /// Lets the holds of an id end later.
    pub(crate) fn renewed(&self, id: [u8; 16], ends: Instant) {
        if let Some(open) = self.open().get_mut(&id) {
            open.ends = open.ends.max(ends);
        }
    }

    /// Removes one hold of an id.
    pub(crate) fn closed(&self, id: [u8; 16]) {
        let mut open = self.open();
        if let Some(entry) = open.get_mut(&id) {
            entry.count -= 1;
            if entry.count == 0 {
                open.remove(&id);
            }
        }
    }

    /// Removes all holds of an id.
    pub(crate) fn closed_all(&self, id: [u8; 16]) {
        self.open().remove(&id);
    }

    /// The number of holds whose time has not passed.
    pub(crate) fn count(&self, now: Instant) -> u64 {
        let mut open = self.open();
        open.retain(|_, open| open.ends > now);
        open.values().map(|open| open.count).sum()
    }

    fn open(&self) -> MutexGuard<'_, HashMap<[u8; 16], Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        holds.opened(id(IDS_MAX), later + Duration::from_secs(1), later);
        assert_eq!(holds.count(later), 1);
    }
}
