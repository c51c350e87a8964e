//! The durations of the calls of one primary, as a histogram.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds of the classes. Longer calls are in one more class.
const BOUNDS: [Duration; 9] = {
    const fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }
    [us(100), us(250), us(500), us(1_000), us(2_000), us(5_000), us(10_000), us(20_000), us(50_000)]
};

/// The durations of calls so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallTimes {
    /// The number of calls of each class, the longest last.
    counts: [u64; BOUNDS.len() + 1],
    total: Duration,
}

/// The same, while calls are counted.
#[derive(Debug, Default)]
pub(super) struct CallTimeCounters {
    counts: [AtomicU64; BOUNDS.len() + 1],
    total_us: AtomicU64,
}

impl CallTimes {
    /// The bounds of the classes, each with the number of calls that took at most as long.
    pub fn cumulative(&self) -> impl Iterator<Item = (Duration, u64)> {
        let counts = self.counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        });
        BOUNDS.into_iter().zip(counts)
    }

    /// The number of calls.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The durations of all calls together.
    pub fn total(&self) -> Duration {
        self.total
    }
}

impl CallTimeCounters {
    pub(super) fn add(&self, took: Duration) {
        let class = BOUNDS.partition_point(|bound| *bound < took);
        self.counts[class].fetch_add(1, Ordering::Relaxed);
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.total_us.fetch_add(took_us, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> CallTimes {
        let total = Duration::from_micros(self.total_us.load(Ordering::Relaxed));
        CallTimes { counts: self.counts.each_ref().map(|n| n.load(Ordering::Relaxed)), total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_in_the_class_of_their_duration() {
        let counters = CallTimeCounters::default();
        for us in [0, 100, 101, 50_000, 50_001, 3_000_000] {
            counters.add(Duration::from_micros(us));
        }
        let times = counters.read();
        let cumulative: Vec<u64> = times.cumulative().map(|(_, count)| count).collect();
        assert_eq!(cumulative, [2, 3, 3, 3, 3, 3, 3, 3, 4], "the bound belongs to its class");
        assert_eq!(times.count(), 6, "longer calls count too");
        assert_eq!(times.total(), Duration::from_micros(3_100_202));
    }
}
