//! The calls that a gate has received, so that a call that is sent again does nothing.
//!
//! A call names the run of the gate that it is for, so it is worthless at every other gate and after a restart. Its time must be
//! near that of the gate, and within this time a gate knows its number.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// The most that the clocks of two gates can differ, and the longest that a call can travel, in milliseconds.
const NEAR_MS: i64 = 30_000;
/// The most numbers of calls in two minutes, about 4 MiB. Further ones are refused.
const CALLS_MAX: usize = 100_000;

/// The numbers of the calls of the last one to two minutes.
#[derive(Debug, Default)]
pub struct SeenCalls(Mutex<Numbers>);

#[derive(Debug, Default)]
struct Numbers {
    /// The start of the present period.
    since_ms: i64,
    present: HashSet<u128>,
    before: HashSet<u128>,
}

impl SeenCalls {
    /// Notes a call of this time and number at `now_ms`. Returns whether it is the first one with this number, and in time.
    pub fn admits(&self, (time_ms, number): (i64, u128), now_ms: i64) -> bool {
        if now_ms.abs_diff(time_ms) > NEAR_MS.unsigned_abs() {
            return false;
        }
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Each number stays for at least twice the time in which its call would be accepted.
        if now_ms.abs_diff(seen.since_ms) > 2 * NEAR_MS.unsigned_abs() {
            seen.before = std::mem::take(&mut seen.present);
            seen.since_ms = now_ms;
        }
        let full = seen.present.len() + seen.before.len() >= CALLS_MAX;
        !full && !seen.before.contains(&number) && seen.present.insert(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_is_admitted_once_and_only_near_its_time() {
        let seen = SeenCalls::default();
        for step in 0..20 {
            let now = 1_000_000 + step * 10_000;
            let number = u128::try_from(step).expect("a step");
            assert!(seen.admits((now, number), now));
            for later in [0, 29_999, 30_001, 61_000, 125_000] {
                assert!(!seen.admits((now, number), now + later), "{step} after {later}");
            }
        }
        assert!(!seen.admits((0, 99), 30_001) && !seen.admits((30_001, 99), 0));
    }

    #[test]
    fn flood_of_calls_is_refused_and_needs_no_more_memory() {
        let seen = SeenCalls::default();
        let admitted = (0..CALLS_MAX as u128 + 10).filter(|number| seen.admits((0, *number), 0));
        assert_eq!(admitted.count(), CALLS_MAX);
        assert!(!seen.admits((200_000, 1 << 90), 200_000), "the period before is still known");
        assert!(seen.admits((400_000, 1 << 90), 400_000));
    }
}
