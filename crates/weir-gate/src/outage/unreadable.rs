//! Reports keys in Redis that hold a value of the wrong type, each once.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The keys that were reported; bounded.
#[derive(Debug, Default)]
pub(crate) struct UnreadableKeys {
    hasher: RandomState,
    reported: Mutex<Reported>,
}

#[derive(Debug, Default)]
struct Reported {
    /// Hashes of keys.
    keys: HashSet<u64>,
    last: Option<Instant>,
}

/// The most reported keys in memory; beyond that all can be reported again.
const KEYS_MAX: usize = 10_000;
/// The shortest time between two reports.
const REPORT_EVERY: Duration = Duration::from_secs(1);

impl UnreadableKeys {
    /// Logs the key, unless it was logged before or another one was within the last second.
    pub(crate) fn report(&self, key: &str, now: Instant) {
        if self.is_due(key, now) {
            tracing::error!(
                key,
                "a key in Redis holds a value of the wrong type; its checks are answered by on_store_failure until the key is deleted or the subject's counters are reset"
            );
        }
    }

    fn is_due(&self, key: &str, now: Instant) -> bool {
        let hash = self.hasher.hash_one(key);
        // After a panic the set lacks at most one key.
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = reported.last.is_some_and(|last| now < last + REPORT_EVERY);
        if recent || reported.keys.contains(&hash) {
            return false;
        }
        if reported.keys.len() >= KEYS_MAX {
            reported.keys.clear();
        }
        reported.keys.insert(hash);
        reported.last = Some(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_reported_once_and_at_most_one_each_second() {
        let (keys, start) = (UnreadableKeys::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        assert!(keys.is_due("a", start));
        assert!(!keys.is_due("b", after(999)), "within a second of the first");
        assert!(keys.is_due("b", after(1_000)), "a second after the first");
        assert!(!keys.is_due("a", after(10_000)) && !keys.is_due("b", after(10_000)), "once");
    }

    #[test]
    fn memory_for_reported_keys_is_bounded() {
        let (keys, start) = (UnreadableKeys::default(), Instant::now());
        for at in 0..u64::try_from(2 * KEYS_MAX).expect("small") {
            assert!(keys.is_due(&at.to_string(), start + Duration::from_secs(at)));
        }
        let reported = keys.reported.lock().expect("no panic");
        assert!(reported.keys.len() <= KEYS_MAX, "{}", reported.keys.len());
    }
}
