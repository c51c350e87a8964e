//! Other values of a rule's first limit, and the share of checks that each would deny.

use weir_wire::limits::LimitBody;
use weir_wire::rules::RuleBody;

/// The result of a replay with one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurvePoint {
    pub units: u64,
    pub checks: u64,
    pub denied: u64,
    /// The subjects that would be denied at least once more than now.
    pub more_denied: u64,
}

impl CurvePoint {
    /// The share of denied checks in hundredths of a percent.
    pub fn share(self) -> u64 {
        let share = u128::from(self.denied) * 10_000 / u128::from(self.checks.max(1));
        u64::try_from(share).unwrap_or(10_000)
    }
}

/// The values to try, in percent of the present one.
const TRIED_PERCENT: [u64; 12] = [25, 40, 50, 65, 80, 100, 125, 150, 200, 300, 400, 600];
/// The share of denied checks up to which a value is suggested, in hundredths of a percent.
const SUGGESTED_SHARE: u64 = 100;

/// The values around the present one, ascending.
pub fn candidates(units: u64) -> Vec<u64> {
    let tried = TRIED_PERCENT.map(|percent| (units.saturating_mul(percent) / 100).max(1));
    let mut tried = tried.to_vec();
    tried.dedup();
    tried
}

/// The number of the first limit: its units or its capacity. `None` for a time between checks, or without limits.
pub fn units_of(rule: &RuleBody) -> Option<u64> {
    match rule.limits.first()? {
        LimitBody::FixedWindow { limit, .. }
        | LimitBody::SlidingWindowLog { limit, .. }
        | LimitBody::SlidingWindowCounter { limit, .. }
        | LimitBody::Quota { limit, .. } => Some(*limit),
        LimitBody::TokenBucket { capacity, .. } | LimitBody::LeakyBucket { capacity, .. } => {
            Some(*capacity)
        }
        LimitBody::Spacing { .. } | LimitBody::Concurrency { .. } => None,
    }
}

/// The rule with another number in its first limit.
pub fn with_units(mut rule: RuleBody, units: u64) -> RuleBody {
    match rule.limits.first_mut() {
        Some(
            LimitBody::FixedWindow { limit, .. }
            | LimitBody::SlidingWindowLog { limit, .. }
            | LimitBody::SlidingWindowCounter { limit, .. }
            | LimitBody::Quota { limit, .. },
        ) => *limit = units,
        Some(LimitBody::TokenBucket { capacity, .. } | LimitBody::LeakyBucket { capacity, .. }) => {
            *capacity = units;
        }
        Some(LimitBody::Spacing { .. } | LimitBody::Concurrency { .. }) | None => {}
    }
    rule
}

/// The smallest value that denies at most 1 % of the checks.
pub fn suggested(points: &[CurvePoint]) -> Option<CurvePoint> {
    points.iter().copied().find(|point| point.checks > 0 && point.share() <= SUGGESTED_SHARE)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn candidates_surround_the_present_value() {
        assert_eq!(candidates(100), [25, 40, 50, 65, 80, 100, 125, 150, 200, 300, 400, 600]);
        assert_eq!(candidates(2), [1, 2, 3, 4, 6, 8, 12]);
        assert_eq!(candidates(1), [1, 2, 3, 4, 6]);
    }

    #[test]
    fn the_first_limit_is_changed() {
        let rule: RuleBody = serde_json::from_value(json!({
            "name": "r", "count_by": ["user"], "limits": [
                {"algorithm": "token_bucket", "capacity": 20, "refill_tokens": 1, "refill_interval_ms": 1000},
                {"algorithm": "fixed_window", "limit": 500, "window_ms": 3_600_000}
            ]
        }))
        .expect("a rule");
        assert_eq!(units_of(&rule), Some(20));
        let changed = with_units(rule.clone(), 30);
        assert_eq!((units_of(&changed), &changed.limits[1]), (Some(30), &rule.limits[1]));
    }

    #[test]
    fn the_smallest_value_that_denies_few_is_suggested() {
        let point = |units, denied| CurvePoint { units, checks: 1_000, denied, more_denied: 0 };
        let points = [point(5, 90), point(10, 11), point(20, 10), point(40, 0)];
        assert_eq!(suggested(&points), Some(points[2]));
        assert_eq!(suggested(&points[..2]), None);
        assert_eq!(suggested(&[CurvePoint { checks: 0, ..point(1, 0) }]), None);
        assert_eq!(points[1].share(), 110);
    }
}
