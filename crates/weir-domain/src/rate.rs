//! A ceiling of units a second, counted in memory.

const SECOND_NS: u64 = 1_000_000_000;

/// The units of one second, refilled continuously. Starts full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateBucket {
    /// The time at which the bucket is full again, in nanoseconds of the caller's clock.
    full_at_ns: u64,
}

/// The units that a bucket gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// Units that were admitted, of those that were wanted.
    pub units: u64,
    /// Milliseconds until the next unit, if fewer were admitted than wanted; otherwise 0.
    pub retry_after_ms: u64,
}

impl RateBucket {
    /// Takes up to `wanted` units of `per_second`, which is from 1 to 1,000,000,000.
    pub fn take(&mut self, now_ns: u64, per_second: u64, wanted: u64) -> Taken {
        let unit_ns = SECOND_NS / per_second.clamp(1, SECOND_NS);
        let empty_ns = now_ns.saturating_add(SECOND_NS);
        // After a step back of the clock, the bucket is empty for at most a second.
        let full_at_ns = self.full_at_ns.clamp(now_ns, empty_ns);
        let units = ((empty_ns - full_at_ns) / unit_ns).min(wanted);
        self.full_at_ns = full_at_ns + units * unit_ns;
        let missing_ns = (self.full_at_ns + unit_ns).saturating_sub(empty_ns);
        let retry_after_ms = if units < wanted { missing_ns.div_ceil(1_000_000).max(1) } else { 0 };
        Taken { units, retry_after_ms }
    }

    /// Whether the bucket is full, so that it can be dropped.
    pub fn is_full(&self, now_ns: u64) -> bool {
        self.full_at_ns <= now_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_admits_its_units_and_no_more_and_asking_again_in_time_succeeds() {
        for per_second in [1, 3, 7, 1_000, 1_000_000] {
            let (mut bucket, mut now_ns) = (RateBucket::default(), 5 * SECOND_NS);
            let taken = bucket.take(now_ns, per_second, 2 * per_second);
            assert_eq!(taken.units, per_second, "{per_second}");
            for _ in 0..20 {
                let denied = bucket.take(now_ns, per_second, 1);
                assert_eq!(denied.units, 0, "{per_second}");
                assert!(denied.retry_after_ms >= 1);
                now_ns += denied.retry_after_ms * 1_000_000;
                assert_eq!(bucket.take(now_ns, per_second, 1).units, 1, "{per_second}");
                // The units of the last millisecond beyond the first one.
                bucket.take(now_ns, per_second, per_second);
            }
        }
    }

    #[test]
    fn ten_seconds_of_demand_admit_what_eleven_hold() {
        let (mut bucket, mut admitted) = (RateBucket::default(), 0);
        for step in 0..10_000_u64 {
            admitted += bucket.take(step * 1_000_000, 100, 1).units;
        }
        assert_eq!(admitted, 100 + 999);
    }

    #[test]
    fn a_step_back_of_the_clock_shuts_nobody_out_for_long() {
        let mut bucket = RateBucket::default();
        bucket.take(1_000 * SECOND_NS, 1, 1);
        assert_eq!(bucket.take(10 * SECOND_NS, 1, 1), Taken { units: 0, retry_after_ms: 1_000 });
        assert_eq!(bucket.take(11 * SECOND_NS, 1, 1).units, 1);
    }
}
