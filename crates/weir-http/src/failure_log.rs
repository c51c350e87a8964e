//! The log of failed requests: equal causes are logged at most once per second, so that an outage fills no disk.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The causes that were logged recently.
#[derive(Debug, Default)]
pub(crate) struct FailureLog(Mutex<HashMap<String, Logged>>);

#[derive(Debug, Clone, Copy)]
struct Logged {
    at: Instant,
    /// The number of failures since then that had the same cause and were not logged.
    suppressed: u64,
}

const INTERVAL: Duration = Duration::from_secs(1);
/// The most causes in memory. Failures with other causes are always logged.
const CAUSES_MAX: usize = 256;

impl FailureLog {
    /// Returns the number of equal failures that were not logged since the last log line, or `None` if this one is not logged
    /// either.
    pub(crate) fn admit(&self, cause: &str, now: Instant) -> Option<u64> {
        let mut causes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(logged) = causes.get_mut(cause) {
            if now.saturating_duration_since(logged.at) < INTERVAL {
                logged.suppressed += 1;
                return None;
            }
            let suppressed = logged.suppressed;
            *logged = Logged { at: now, suppressed: 0 };
            return Some(suppressed);
        }
        if causes.len() >= CAUSES_MAX {
            causes.retain(|_, logged| now.saturating_duration_since(logged.at) < INTERVAL);
        }
        if causes.len() < CAUSES_MAX {
            causes.insert(cause.to_owned(), Logged { at: now, suppressed: 0 });
        }
        Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_causes_are_logged_once_per_second_with_the_number_of_others() {
        let (log, start) = (FailureLog::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(log.admit("database unavailable", at(0)), Some(0));
        assert_eq!(log.admit("a bug", at(0)), Some(0), "another cause");
        for ms in 1..=500 {
            assert_eq!(log.admit("database unavailable", at(ms)), None);
        }
        assert_eq!(log.admit("database unavailable", at(1_000)), Some(500));
        assert_eq!(log.admit("database unavailable", at(2_000)), Some(0));
    }

    #[test]
    fn causes_in_memory_are_bounded_and_none_is_lost() {
        let (log, start) = (FailureLog::default(), Instant::now());
        for cause in 0..2 * CAUSES_MAX {
            assert_eq!(log.admit(&cause.to_string(), start), Some(0));
        }
        assert_eq!(log.0.lock().expect("no panic").len(), CAUSES_MAX);
        assert_eq!(log.admit("another", start + INTERVAL), Some(0));
        assert_eq!(log.0.lock().expect("no panic").len(), 1);
    }
}
