//! The durations of checks, counted in bins with bounds that grow by the square root of two.

/// The upper bounds of all bins but the last, in microseconds. The last bin has no bound.
const BOUNDS_US: [u64; BINS - 1] = [
    50, 71, 100, 141, 200, 283, 400, 566, 800, 1_131, 1_600, 2_263, 3_200, 4_525, 6_400, 9_051,
    12_800, 18_102, 25_600, 36_204, 51_200, 72_408, 102_400, 144_815,
];

/// The number of bins.
pub const BINS: usize = 25;

/// The number of checks in each bin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Latencies([u32; BINS]);

impl Latencies {
    /// Counts of bins, in their order. Bins that are missing are empty, and further ones are ignored.
    pub fn from_counts(counts: impl IntoIterator<Item = u32>) -> Self {
        let mut latencies = Self::default();
        for (bin, count) in latencies.0.iter_mut().zip(counts) {
            *bin = count;
        }
        latencies
    }

    /// The number of checks in each bin.
    pub fn counts(&self) -> &[u32; BINS] {
        &self.0
    }

    /// Counts a check that took this long.
    #[inline]
    pub fn add(&mut self, took_us: u64) {
        let bin = BOUNDS_US.partition_point(|bound_us| *bound_us < took_us);
        self.0[bin] = self.0[bin].saturating_add(1);
    }

    /// Adds the counts of others.
    pub fn absorb(&mut self, others: &Self) {
        for (bin, count) in self.0.iter_mut().zip(others.0) {
            *bin = bin.saturating_add(count);
        }
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|count| *count == 0)
    }

    /// The duration in microseconds that `percent` of the checks did not exceed, interpolated within its bin; for the last
    /// bin, its lower bound. `None` without checks.
    pub fn percentile_us(&self, percent: u64) -> Option<u64> {
        let total: u64 = self.0.iter().map(|count| u64::from(*count)).sum();
        if total == 0 {
            return None;
        }
        let rank = (total * percent).div_ceil(100).max(1);
        let mut below = 0;
        let mut low_us = 0;
        for (bin, count) in self.0.iter().enumerate() {
            let count = u64::from(*count);
            let Some(high_us) = BOUNDS_US.get(bin) else { break };
            if below + count >= rank {
                return Some(low_us + (high_us - low_us) * (rank - below) / count);
            }
            below += count;
            low_us = *high_us;
        }
        Some(low_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_the_bin_of_the_exact_value() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.percentile_us(50), None);
        for took_us in 1..=10_000 {
            latencies.add(took_us);
        }
        for (percent, exact_us) in [(1, 100), (50, 5_000), (90, 9_000), (99, 9_900), (100, 10_000)]
        {
            let found_us = latencies.percentile_us(percent).expect("some");
            let ratio_percent = found_us * 100 / exact_us;
            assert!((70..=142).contains(&ratio_percent), "{percent} %: {found_us} for {exact_us}");
        }
    }

    #[test]
    fn a_duration_counts_in_the_first_bin_that_reaches_it() {
        for (bin, bound_us) in BOUNDS_US.into_iter().enumerate() {
            let mut latencies = Latencies::default();
            latencies.add(bound_us);
            latencies.add(bound_us + 1);
            assert_eq!(latencies.counts()[bin..bin + 2], [1, 1], "{bound_us}");
        }
        let mut slow = Latencies::default();
        slow.add(u64::MAX);
        assert_eq!(
            slow.percentile_us(99),
            BOUNDS_US.last().copied(),
            "the lower bound of the last bin"
        );
        let mut both = slow;
        both.absorb(&slow);
        assert_eq!(Latencies::from_counts(*both.counts()), both);
        assert_eq!((both.counts()[BINS - 1], both.is_empty()), (2, false));
    }
}
