//! The estimated script time that one call can hold, adapted to the measured duration of calls.
//!
//! Redis serves no other client during a call, which must not exceed 2 ms. A call therefore aims at a quarter of that. The
//! estimate of `cost` is corrected by the ratio of measured to estimated time: the least of the last calls, since a busy
//! machine or network makes a round trip longer, but never shorter.

use std::time::Duration;

#[derive(Debug)]
pub(super) struct Pace {
    /// The round trip of a command that takes Redis no time: the least of this period and of the previous one.
    baseline: [Duration; 2],
    small_calls: u32,
    /// The ratios of measured to estimated script time of the last large calls.
    ratios: [f64; RATIOS],
    next: usize,
}

/// The script time that a call aims at, in microseconds.
const TARGET: f64 = 500.0;
/// The bounds of the correction. They bound a call to 125 to 1,000 us of estimated time.
const RATIO_MIN: f64 = 0.5;
const RATIO_MAX: f64 = 4.0;
/// The round trip of a call with less estimated time depends more on the network than on the script.
const LARGE: u32 = 100;
const RATIOS: usize = 16;
const SMALL_CALLS_PER_PERIOD: u32 = 256;

impl Pace {
    /// The pace of a new connection, on which one command had this round trip.
    pub(super) fn new(round_trip: Duration) -> Self {
        Self { baseline: [round_trip; 2], small_calls: 0, ratios: [1.0; RATIOS], next: 0 }
    }

    /// The most estimated script time of the next call, in microseconds.
    pub(super) fn cost_max(&self) -> u32 {
        let least = self.ratios.iter().copied().fold(f64::INFINITY, f64::min);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "125 to 1,000")]
        let cost_max = (TARGET / least.clamp(RATIO_MIN, RATIO_MAX)) as u32;
        cost_max
    }

    /// Records the round trip of a call that was estimated at `cost` microseconds of script time.
    pub(super) fn measured(&mut self, cost: u32, round_trip: Duration) {
        if cost < LARGE {
            return self.measured_small(round_trip);
        }
        let baseline = self.baseline[0].min(self.baseline[1]);
        let script = round_trip.saturating_sub(baseline);
        self.ratios[self.next] = script.as_secs_f64() * 1e6 / f64::from(cost);
        self.next = (self.next + 1) % RATIOS;
    }

    fn measured_small(&mut self, round_trip: Duration) {
        self.baseline[0] = self.baseline[0].min(round_trip);
        self.small_calls += 1;
        if self.small_calls >= SMALL_CALLS_PER_PERIOD {
            self.small_calls = 0;
            self.baseline = [round_trip, self.baseline[0]];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    fn cost_max_after(calls: impl IntoIterator<Item = (u32, u64)>) -> u32 {
        let mut pace = Pace::new(us(50));
        for (cost, round_trip_us) in calls {
            pace.measured(cost, us(round_trip_us));
        }
        pace.cost_max()
    }

    #[test]
    fn calls_begin_at_the_target() {
        assert_eq!(cost_max_after([]), 500);
    }

    #[test]
    fn calls_shrink_when_redis_is_slower_than_estimated_and_grow_when_it_is_faster() {
        assert_eq!(cost_max_after([(200, 450); RATIOS]), 250);
        assert_eq!(cost_max_after([(200, 190); RATIOS]), 714);
    }

    #[test]
    fn calls_keep_their_bounds_under_any_measurement() {
        assert_eq!(cost_max_after([(100, 1_000_000); RATIOS]), 125);
        assert_eq!(cost_max_after([(100, 0); RATIOS]), 1_000);
    }

    #[test]
    fn single_late_replies_change_nothing() {
        let calls = (0..100).map(|n| (200, if n % 4 == 0 { 9_000 } else { 250 }));
        assert_eq!(cost_max_after(calls), 500);
    }

    #[test]
    fn round_trip_of_small_calls_is_no_script_time() {
        // The network became slower by 5 ms.
        let small = (0..2 * SMALL_CALLS_PER_PERIOD).map(|_| (7, 5_050));
        assert_eq!(cost_max_after(small.chain([(200, 5_250); RATIOS])), 500);
    }
}
