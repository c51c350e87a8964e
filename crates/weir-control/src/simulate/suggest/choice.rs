//! The choice of a limit from those that the subjects need.

use weir_http::problem::Problem;
use weir_wire::problem::ErrorCode;
use weir_wire::suggest::{CANDIDATES_MAX, NeededLimit};

/// The quantile of the standard normal distribution for 95 %.
const Z: f64 = 1.96;
/// The fewest subjects for which the bounds are meaningful.
const SUBJECTS_ENOUGH: usize = 30;
const PERCENTILES: [f64; 7] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 100.0];

/// A limit, its bounds and its alternatives.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) limit: u64,
    pub(super) low: u64,
    pub(super) high: Option<u64>,
    /// The needed limits in ascending order; those without a limit are last.
    needed: Vec<Option<u64>>,
    rate: f64,
}

impl Choice {
    /// The smallest limit that at most `share_denied` of the subjects exceed. `rate` is the share of subjects that are known.
    pub(super) fn new(
        needed: &[Option<u64>],
        share_denied: f64,
        rate: f64,
    ) -> Result<Self, Problem> {
        let count = needed.len();
        if count == 0 {
            let detail = "no recorded check of this time matches the rule";
            return Err(Problem::new(ErrorCode::Conflict, detail));
        }
        let mut needed = needed.to_vec();
        needed.sort_unstable_by_key(|needed| needed.unwrap_or(u64::MAX));
        let place = count - 1 - floor(share_denied * float(count), count - 1);
        let Some(limit) = needed[place] else {
            let without = needed.iter().filter(|needed| needed.is_none()).count();
            let reason = format!("has no limit that is great enough for {without} subjects");
            return Err(Problem::invalid_field("algorithm", reason));
        };
        // A share of nothing still has an error, of about one subject.
        let share = share_denied.max(1.0 / float(count));
        let error = Z * (float(count) * share * (1.0 - share).max(0.0) * (1.0 - rate)).sqrt();
        let error = if rate >= 1.0 { 0 } else { floor(error.ceil(), count).max(1) };
        let low = needed[place.saturating_sub(error)].unwrap_or(limit);
        let high = needed.get(place + error).copied().flatten();
        Ok(Self { limit, low, high, needed, rate })
    }

    /// At most twelve limits in ascending order, in equal ratios from half the median to the greatest, and the suggested one.
    pub(super) fn limits(&self) -> Vec<u64> {
        let known = || self.needed.iter().flatten().copied();
        let most = known().next_back().unwrap_or(self.limit);
        let median = known().nth(self.needed.len() / 2).unwrap_or(self.limit);
        let least = (median / 2).max(1).min(self.limit);
        let ratio = as_float(most) / as_float(least);
        let steps = CANDIDATES_MAX - 2;
        let step = |at: usize| {
            let exact = as_float(least) * ratio.powf(float(at) / float(steps));
            whole(exact).clamp(least, most)
        };
        let mut limits: Vec<u64> = (0..=steps).map(step).chain([self.limit]).collect();
        limits.sort_unstable();
        limits.dedup();
        limits
    }

    /// The limits that shares of the subjects need.
    pub(super) fn distribution(&self) -> Vec<NeededLimit> {
        let count = self.needed.len();
        let of = |percentile: f64| {
            let rank = (percentile / 100.0 * float(count)).ceil();
            let place = floor(rank, count).max(1) - 1;
            NeededLimit { percentile, limit: self.needed[place] }
        };
        PERCENTILES.into_iter().map(of).collect()
    }

    /// A description of the bounds.
    pub(super) fn method(&self) -> &'static str {
        if self.rate < 1.0 {
            "95 % bounds for the quantile of the limits that all subjects need: order statistics of a sample of subjects, \
             normal approximation with finite population correction (W. J. Conover, Practical Nonparametric \
             Statistics, 3rd ed., 1999, section 3.2)"
        } else {
            "every subject of this time was recorded: there is no error of sampling"
        }
    }

    /// A warning about a sample that is too small.
    pub(super) fn warning(&self) -> Option<String> {
        let count = self.needed.len();
        (count < SUBJECTS_ENOUGH).then(|| {
            format!("the number of recorded subjects is {count}: so few say little about others")
        })
    }
}

/// `part` of `whole`; 0 of nothing.
pub(super) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { as_float(part) / as_float(whole) }
}

#[expect(clippy::cast_precision_loss, reason = "limits and counts are far below 2^53")]
fn as_float(number: u64) -> f64 {
    number as f64
}

fn float(count: usize) -> f64 {
    as_float(count as u64)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "limits are positive and far below 2^53"
)]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of subjects, bounded by `most`"
)]
fn floor(number: f64, most: usize) -> usize {
    // A product such as 0.07 * 100 must not lose a subject to its rounding error.
    ((number + 1e-9).floor().max(0.0) as usize).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needed(limits: impl IntoIterator<Item = u64>) -> Vec<Option<u64>> {
        limits.into_iter().map(Some).collect()
    }

    #[test]
    fn limit_is_the_smallest_that_denies_at_most_the_share() {
        for count in [1_u64, 2, 3, 10, 99, 100, 101, 1_000] {
            for percent in [0, 1, 7, 10, 33, 50] {
                let share_denied = as_float(percent) / 100.0;
                let choice = Choice::new(&needed(1..=count), share_denied, 1.0).expect("subjects");
                let denied = |limit: u64| 100 * (count - limit) <= percent * count;
                assert!(denied(choice.limit), "{count} {percent}: {}", choice.limit);
                assert!(choice.limit == 1 || !denied(choice.limit - 1), "{count} {percent}");
                assert_eq!((choice.low, choice.high), (choice.limit, Some(choice.limit)));
            }
        }
    }

    #[test]
    fn bounds_of_a_sample_contain_the_limit_and_are_open_beyond_it() {
        let choice = Choice::new(&needed(1..=1_000), 0.1, 0.25).expect("subjects");
        assert_eq!(choice.limit, 900);
        // 1.96 * sqrt(1000 * 0.1 * 0.9 * 0.75) = 16.1
        assert_eq!((choice.low, choice.high), (883, Some(917)));
        let none = Choice::new(&needed(1..=1_000), 0.0, 0.25).expect("subjects");
        assert_eq!((none.limit, none.high), (1_000, None));
        assert!(none.warning().is_none() && none.method().contains("sample"));
        let few = Choice::new(&needed([3, 3]), 0.0, 1.0).expect("subjects");
        assert!(few.warning().is_some());
    }

    #[test]
    fn candidates_ascend_and_contain_the_suggested_limit() {
        for limits in [vec![5], vec![1, 1, 1], (1..=5_000).collect(), vec![1, 1_000_000_000]] {
            let choice = Choice::new(&needed(limits), 0.01, 1.0).expect("subjects");
            let candidates = choice.limits();
            assert!(candidates.len() <= CANDIDATES_MAX, "{candidates:?}");
            assert!(candidates.is_sorted_by(|one, other| one < other), "{candidates:?}");
            assert!(candidates.contains(&choice.limit), "{candidates:?}");
        }
    }

    #[test]
    fn subjects_without_a_possible_limit_are_denied_by_every_limit() {
        let mut needs = needed(1..=9);
        needs.push(None);
        assert_eq!(Choice::new(&needs, 0.1, 1.0).expect("one can be denied").limit, 9);
        Choice::new(&needs, 0.0, 1.0).expect_err("one needs more");
        Choice::new(&[], 0.5, 1.0).expect_err("nobody");
    }
}
