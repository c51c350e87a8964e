//! The smoothed duration of the calls of Redis.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The mean of recent calls. A newer call weighs an eighth.
#[derive(Debug, Default)]
pub(crate) struct RoundTrip {
    /// In nanoseconds; 0 before the first call.
    mean_ns: AtomicU64,
}

/// The number of calls over which the mean is smoothed.
const WEIGHT: u64 = 8;

impl RoundTrip {
    /// Adds a call. Of two calls that end at once, one can be left out.
    pub(crate) fn add(&self, took: Duration) {
        let took_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX / WEIGHT).max(1);
        let before = self.mean_ns.load(Ordering::Relaxed);
        let after = match before {
            0 => took_ns,
            before => before - before / WEIGHT + took_ns / WEIGHT,
        };
        self.mean_ns.store(after.max(1), Ordering::Relaxed);
    }

    /// The mean in microseconds; `None` before the first call.
    pub(crate) fn get_us(&self) -> Option<u64> {
        let mean_ns = self.mean_ns.load(Ordering::Relaxed);
        (mean_ns > 0).then_some(mean_ns / 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_follows_the_calls() {
        let round_trip = RoundTrip::default();
        assert_eq!(round_trip.get_us(), None);
        round_trip.add(Duration::from_millis(8));
        assert_eq!(round_trip.get_us(), Some(8_000));
        round_trip.add(Duration::from_millis(16));
        assert_eq!(round_trip.get_us(), Some(9_000));
        for _ in 0..200 {
            round_trip.add(Duration::from_millis(1));
        }
        assert!(round_trip.get_us().is_some_and(|mean_us| (990..=1_010).contains(&mean_us)));
    }
}
