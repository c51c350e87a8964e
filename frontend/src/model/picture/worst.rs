//! The most that any traffic can get through, whatever it looks like.
//!
//! Worked out from what each algorithm means, over all half-open stretches of one length; the tests hold it against
//! [`decide`](weir_domain::decide::decide), with traffic that reaches it and with traffic of all kinds that never passes it.

use weir_domain::algorithm::{Algorithm, Period, Quota};
use weir_domain::rule::Rule;

/// The most units that can pass in any `stretch_us`, by requests that cost `cost` each. With several limits no traffic
/// passes the least of theirs; it need not be reached.
pub fn most_in(rule: &Rule, stretch_us: u64, cost: u64) -> u64 {
    let limits = rule.limits().iter();
    limits.map(|it| most_by(&it.algorithm, stretch_us, cost)).min().unwrap_or(u64::MAX)
}

/// The shortest that a window ever is: months of 28 days, and days that lose an hour where clocks are put forward.
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
        // The limit in each window that the stretch touches: two, if it is as long as one.
        Algorithm::FixedWindow(_) | Algorithm::Quota(_) => limit * touched(stretch_us, window_us),
        // What an admitted request takes is back exactly one window later.
        Algorithm::SlidingWindowLog(_) => limit * stretch_us.div_ceil(window_us),
        // The estimate takes what came at the end of a window to have come evenly: at the end of the next it counts
        // one millisecond's share of it.
        Algorithm::SlidingWindowCounter(it) => {
            let share = if stretch_us <= window_us { limit / it.window_ms() } else { 0 };
            limit * touched(stretch_us, window_us) - share
        }
        // A full bucket, and what refills until the last microsecond.
        Algorithm::TokenBucket(it) => {
            limit + flow(it.refill_tokens(), it.refill_interval_ms(), stretch_us - 1)
        }
        Algorithm::LeakyBucket(it) => {
            limit + flow(it.drain_units(), it.drain_interval_ms(), stretch_us - 1)
        }
        // One request a distance, whatever it costs.
        Algorithm::Spacing(_) => stretch_us.div_ceil(window_us).saturating_mul(cost),
    }
}

/// How many windows that follow one another a stretch can touch.
fn touched(stretch_us: u64, window_us: u64) -> u64 {
    (stretch_us - 1).div_ceil(window_us) + 1
}

/// Whole units that flow in a time.
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
