//! Times in microseconds, and histograms of them.

use std::time::Duration;

use hdrhistogram::Histogram;

/// A histogram of times up to a minute, in microseconds, with three significant digits.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000, 3).expect("the bounds are in order")
}

pub fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
