//! The estimated script time that one call can hold, and the number of calls in flight, adapted to the measured duration of
//! calls.
//!
//! Redis serves no other client during a call, which must not exceed 2 ms. A call therefore aims at a quarter of that, and at
//! an eighth while several tenants send checks, which then wait for the calls of each other (`queue`). The estimate of `cost`
//! is corrected by the ratio of measured to estimated time: the least of the last calls, since a busy machine or network makes
//! a round trip longer, but never shorter.
//!
//! If the round trip takes half a millisecond or more, further calls are sent while the first is in flight, in equal intervals
//! of about half a millisecond. A check then waits for such an interval and one round trip. If it takes less, one call at a
//! time makes the largest batches, which cost Redis least.

use std::time::Duration;

use tokio::time::Instant;

#[derive(Debug)]
pub(super) struct Pace {
    /// The round trip of a command that takes Redis no time: the least of this period and of the previous one.
    baseline: [Duration; 2],
    small_calls: u32,
    /// The ratios of measured to estimated script time of the last large calls.
    ratios: [f64; RATIOS],
    next: usize,
    /// The round trip of a call that found Redis idle: the least of this period and of the previous one.
    idle: [Duration; 2],
    idle_calls: u32,
    last_answer: Option<Instant>,
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
const IDLE_CALLS_PER_PERIOD: u32 = 64;
/// About the time between two calls, if one is sent while another is in flight.
const INTERVAL: Duration = Duration::from_micros(500);
/// The most calls in flight.
const CALLS_MAX: usize = 32;

impl Pace {
    /// The pace of a new connection, on which one command had this round trip.
    pub(super) fn new(round_trip: Duration) -> Self {
        Self {
            baseline: [round_trip; 2],
            small_calls: 0,
            ratios: [1.0; RATIOS],
            next: 0,
            idle: [round_trip; 2],
            idle_calls: 0,
            last_answer: None,
        }
    }

    /// The time from which another call can be sent although this number is in flight. `None` if their answers come first.
    pub(super) fn send_at(&self, in_flight: usize, last_sent: Option<Instant>) -> Option<Instant> {
        let round_trip = self.idle[0].min(self.idle[1]);
        let calls = usize::try_from(round_trip.as_micros() / INTERVAL.as_micros());
        let calls = calls.unwrap_or(CALLS_MAX).saturating_add(1).min(CALLS_MAX);
        let interval = round_trip / u32::try_from(calls).unwrap_or(1);
        Some(last_sent? + interval).filter(|_| in_flight < calls)
    }

    /// The most estimated script time of the next call, in microseconds.
    pub(super) fn cost_max(&self) -> u32 {
        let least = self.ratios.iter().copied().fold(f64::INFINITY, f64::min);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "125 to 1,000")]
        let cost_max = (TARGET / least.clamp(RATIO_MIN, RATIO_MAX)) as u32;
        cost_max
    }

    /// Records a call that was estimated at `cost` microseconds of script time. `alone` means that no other call was in flight
    /// when it was sent.
    pub(super) fn measured(&mut self, cost: u32, sent: Instant, answered: Instant, alone: bool) {
        let baseline = self.baseline[0].min(self.baseline[1]);
        // Redis ran this call after the previous one, which was answered about half a round trip later.
        let previous = self.last_answer.replace(answered).and_then(|at| at.checked_sub(baseline));
        let begun = previous.filter(|_| !alone).map_or(sent, |previous| previous.max(sent));
        let round_trip = answered.saturating_duration_since(begun);
        if alone {
            self.measured_idle(round_trip);
        }
        if cost >= LARGE {
            self.measured_large(cost, round_trip, baseline);
        } else if alone {
            self.measured_small(round_trip);
        }
    }

    fn measured_large(&mut self, cost: u32, round_trip: Duration, baseline: Duration) {
        let script = round_trip.saturating_sub(baseline);
        self.ratios[self.next] = script.as_secs_f64() * 1e6 / f64::from(cost);
        self.next = (self.next + 1) % RATIOS;
    }

    fn measured_idle(&mut self, round_trip: Duration) {
        self.idle[0] = self.idle[0].min(round_trip);
        self.idle_calls += 1;
        if self.idle_calls >= IDLE_CALLS_PER_PERIOD {
            self.idle_calls = 0;
            self.idle = [round_trip, self.idle[0]];
        }
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

    /// Records calls, one at a time.
    fn measure(pace: &mut Pace, calls: impl IntoIterator<Item = (u32, u64)>) {
        for (cost, round_trip_us) in calls {
            let sent = Instant::now();
            pace.measured(cost, sent, sent + us(round_trip_us), true);
        }
    }

    fn cost_max_after(calls: impl IntoIterator<Item = (u32, u64)>) -> u32 {
        let mut pace = Pace::new(us(50));
        measure(&mut pace, calls);
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

    /// The number of calls in flight at once, and the time between two of them.
    fn calls(pace: &Pace) -> (usize, Duration) {
        let sent = Instant::now();
        let calls = (1..=2 * CALLS_MAX).find(|&calls| pace.send_at(calls, Some(sent)).is_none());
        let at = pace.send_at(0, Some(sent)).expect("nothing is in flight");
        (calls.expect("it is bounded"), at - sent)
    }

    #[test]
    fn calls_in_flight_follow_the_round_trip() {
        for (round_trip_us, expected) in [(50, 1), (499, 1), (500, 2), (5_500, 12), (400_000, 32)] {
            let mut pace = Pace::new(us(round_trip_us));
            measure(&mut pace, [(7, round_trip_us); 10]);
            let (count, interval) = calls(&pace);
            assert_eq!(count, expected, "{round_trip_us}");
            assert!(interval <= us(round_trip_us) / 1.max(u32::try_from(count).unwrap_or(1)));
        }
    }

    #[test]
    fn single_late_replies_send_no_further_calls_and_a_slower_network_does() {
        let mut pace = Pace::new(us(100));
        measure(&mut pace, (0..1_000).map(|at| (7, if at % 4 == 0 { 9_000 } else { 200 })));
        assert_eq!(calls(&pace).0, 1);
        measure(&mut pace, [(7, 5_100); 2 * IDLE_CALLS_PER_PERIOD as usize]);
        assert_eq!(calls(&pace).0, 11);
    }

    #[test]
    fn calls_that_wait_for_others_are_no_slower_script() {
        let (mut pace, sent) = (Pace::new(us(5_000)), Instant::now());
        let mut answered = sent + us(5_000);
        for _ in 0..100 {
            // All were sent at once, and Redis needs 200 us for each.
            answered += us(200);
            pace.measured(200, sent, answered, false);
        }
        assert_eq!(pace.cost_max(), 500);
    }
}
