//! The worst case of a rule: the most units that any traffic can pass.
//!
//! Derived from the definition of each algorithm, over all half-open periods of one length. The tests compare the
//! result with [`decide`](weir_domain::decide::decide), for traffic that reaches it and for random traffic, which must
//! not exceed it.

use weir_domain::algorithm::{Algorithm, Period, Quota};
use weir_domain::rule::Rule;

/// The most units that can pass in any `stretch_us`, in requests of cost `cost`. For several limits this is the lowest
/// of their bounds, which traffic cannot always reach.
pub fn most_in(rule: &Rule, stretch_us: u64, cost: u64) -> u64 {
    let limits = rule.limits().iter();
    limits.map(|limit| most_by(&limit.algorithm, stretch_us, cost)).min().unwrap_or(u64::MAX)
}

/// The shortest length of a window: months of 28 days, and days that lose an hour when daylight saving time begins.
pub fn shortest_ms(algorithm: &Algorithm) -> u64 {
    match algorithm {
        Algorithm::Quota(quota) => shortest_period_ms(quota),
        other => other.window_ms().unwrap_or(1).max(1),
    }
}

fn most_by(algorithm: &Algorithm, stretch_us: u64, cost: u64) -> u64 {
    let limit = algorithm.limit();
    let window_us = shortest_ms(algorithm) * 1000;
    match algorithm {
        // The limit once for each window that the period overlaps: two if it is as long as a window.
        Algorithm::FixedWindow(_) | Algorithm::Quota(_) => limit * touched(stretch_us, window_us),
        // Units taken by a request return exactly one window later.
        Algorithm::SlidingWindowLog(_) => limit * stretch_us.div_ceil(window_us),
        // The estimate spreads the requests at the end of a window evenly over it: at the end of the next window it
        // counts one millisecond's share of them.
        Algorithm::SlidingWindowCounter(window) => {
            let share = if stretch_us <= window_us { limit / window.window_ms() } else { 0 };
            limit * touched(stretch_us, window_us) - share
        }
        // A full bucket, and the refill up to the last microsecond.
        Algorithm::TokenBucket(bucket) => {
            limit + flow(bucket.refill_tokens(), bucket.refill_interval_ms(), stretch_us - 1)
        }
        Algorithm::LeakyBucket(bucket) => {
            limit + flow(bucket.drain_units(), bucket.drain_interval_ms(), stretch_us - 1)
        }
        // One request per interval, whatever its cost.
        Algorithm::Spacing(_) => stretch_us.div_ceil(window_us).saturating_mul(cost),
    }
}

/// The most consecutive windows that a period can overlap.
fn touched(stretch_us: u64, window_us: u64) -> u64 {
    (stretch_us - 1).div_ceil(window_us) + 1
}

/// Whole units that flow in a period.
fn flow(units: u64, interval_ms: u64, time_us: u64) -> u64 {
    let flown = u128::from(units) * u128::from(time_us) / (u128::from(interval_ms) * 1000);
    u64::try_from(flown).unwrap_or(u64::MAX / 2)
}

fn shortest_period_ms(quota: &Quota) -> u64 {
    let calendar = quota.calendar();
    let hours = 24
        * match calendar.period {
            Period::Day => 1,
            Period::Week => 7,
            Period::Month => 28,
            Period::Year => 365,
        };
    let put_forward = u64::from(calendar.time_zone != "UTC");
    (hours - put_forward) * 3_600_000
}

#[cfg(test)]
mod tests;
