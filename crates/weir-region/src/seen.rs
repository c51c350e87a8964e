//! The calls that a gate has received, so that a call that is sent again does nothing.
//!
//! A call names the run of the gate that it is for, so it is worthless at every other gate and after a restart. Its time must be near
//! that of the gate. Its number has the id of its sender in the upper half, and counts the calls of that sender in the lower half.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The most that the clocks of two gates can differ, and the longest that a call can travel, in milliseconds.
const NEAR_MS: i64 = 30_000;
/// Calls overtake each other, but not by as many as this.
const OVERTAKEN_MAX: u64 = 1_024;
const WORDS: usize = 16;
/// The most gates that send calls. Calls of further ones are refused.
const SENDERS_MAX: usize = 4_096;

/// The newest calls of each sender.
#[derive(Debug, Default)]
pub struct SeenCalls(Mutex<HashMap<u64, Newest>>);

/// The newest calls of a sender.
#[derive(Debug)]
struct Newest {
    highest: u64,
    /// Whether the call `n` was received is bit `n % 1024`, of the last 1,024 calls up to the highest.
    received: [u64; WORDS],
    last_ms: i64,
}

impl SeenCalls {
    /// Notes a call of this time and number at `now_ms`. Returns whether it is the first one with this number, and in time.
    pub fn admits(&self, (time_ms, number): (i64, u128), now_ms: i64) -> bool {
        if now_ms.abs_diff(time_ms) > NEAR_MS.unsigned_abs() {
            return false;
        }
        let half = |bits: u128| u64::try_from(bits & u128::from(u64::MAX)).unwrap_or_default();
        let (sender, count) = (half(number >> 64), half(number));
        let mut senders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !senders.contains_key(&sender) && senders.len() >= SENDERS_MAX {
            // No call of such a sender would be in time any more.
            let is_idle =
                |newest: &Newest| now_ms.abs_diff(newest.last_ms) > 3 * NEAR_MS.unsigned_abs();
            senders.retain(|_, newest| !is_idle(newest));
            if senders.len() >= SENDERS_MAX {
                return false;
            }
        }
        let first = || Newest { highest: count, received: [0; WORDS], last_ms: now_ms };
        senders.entry(sender).or_insert_with(first).admits(count, now_ms)
    }
}

impl Newest {
    fn admits(&mut self, count: u64, now_ms: i64) -> bool {
        if self.highest.saturating_sub(count) >= OVERTAKEN_MAX {
            return false;
        }
        // The bits of the calls between the highest so far and this one belonged to calls that are too old now.
        let skipped = count.saturating_sub(self.highest).min(OVERTAKEN_MAX);
        for ahead in 0..skipped {
            let (word, bit) = place(count - ahead);
            self.received[word] &= !bit;
        }
        self.highest = self.highest.max(count);
        self.last_ms = now_ms;
        let (word, bit) = place(count);
        let is_first = self.received[word] & bit == 0;
        self.received[word] |= bit;
        is_first
    }
}

fn place(count: u64) -> (usize, u64) {
    let at = count % OVERTAKEN_MAX;
    (usize::try_from(at / 64).unwrap_or(0), 1 << (at % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(sender: u64, count: u64) -> u128 {
        u128::from(sender) << 64 | u128::from(count)
    }

    #[test]
    fn call_is_admitted_once_and_only_near_its_time() {
        let seen = SeenCalls::default();
        for step in 0_u32..20 {
            let now = 1_000_000 + i64::from(step) * 10_000;
            let number = number(7, step.into());
            assert!(seen.admits((now, number), now));
            for later in [0, 29_999, 30_001, 61_000, 125_000] {
                assert!(!seen.admits((now, number), now + later), "{step} after {later}");
            }
        }
        assert!(
            !seen.admits((0, number(7, 99)), 30_001) && !seen.admits((30_001, number(7, 99)), 0)
        );
    }

    #[test]
    fn calls_can_overtake_each_other_by_about_a_thousand() {
        let seen = SeenCalls::default();
        let admits = |count| seen.admits((0, number(1, count)), 0);
        assert!(admits(5_000) && admits(4_000) && admits(3_977));
        assert!(!admits(3_976), "too old to know");
        assert!(!admits(5_000) && !admits(4_000), "repeats");
        assert!((5_001..6_024).all(admits), "calls after a gap have no bits of earlier ones");
        assert!(!(5_000..6_024).any(admits));
        assert!(admits(1 << 40) && !admits(6_023));
        assert!(seen.admits((0, number(2, 5_000)), 0), "another sender");
    }

    #[test]
    fn flood_of_senders_is_refused_and_needs_no_more_memory() {
        let seen = SeenCalls::default();
        let senders = 0..SENDERS_MAX as u64 + 10;
        let admitted = senders.filter(|sender| seen.admits((0, number(*sender, 1)), 0));
        assert_eq!(admitted.count(), SENDERS_MAX);
        assert!(seen.admits((0, number(3, 2)), 0), "a known sender");
        assert!(seen.admits((100_000, number(1 << 40, 1)), 100_000), "the others are idle");
    }
}
