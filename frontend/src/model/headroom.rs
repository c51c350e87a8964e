//! The units left of a limit.

use weir_wire::check::LimitAnswer;
use weir_wire::limits::AlgorithmName;
use weir_wire::regions::RegionLimits;

use crate::model::duration::{about, period, short};
use crate::model::number::{grouped, per_second};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headroom {
    /// The units left; `None` if the counter could not be read.
    pub left: Option<u64>,
    /// The used share, rounded; 100 only if nothing is left.
    pub used_percent: u64,
}

impl Headroom {
    pub fn of(limit: &LimitAnswer) -> Self {
        let left = limit.remaining.map(|left| left.min(limit.limit));
        let used = limit.limit - left.unwrap_or(limit.limit);
        let percent = u128::from(used) * 100 / u128::from(limit.limit.max(1));
        let used_percent = u64::try_from(percent).unwrap_or(100);
        Self { left, used_percent: if left == Some(0) { 100 } else { used_percent } }
    }

    /// The class of the meter: little is left from 80 % on.
    pub const fn class(self) -> &'static str {
        match self.used_percent {
            ..80 => "",
            80..100 => "near",
            _ => "full",
        }
    }
}

/// The time of a limit, after the name of its algorithm: `, 10 per second`, ` per month, resets in 3 d`.
pub fn per(limit: &LimitAnswer) -> String {
    let window_ms = limit.window_ms;
    let refill = |word: &str| match limit.limit.saturating_mul(1_000) {
        units if units >= window_ms => format!(", {} per second", per_second(units, window_ms)),
        _ => format!(", {word} in {}", short(window_ms)),
    };
    let resets = limit.reset_after_ms.map(|ms| format!(", resets in {}", about(ms)));
    match limit.algorithm {
        AlgorithmName::Concurrency => format!(", leases of {}", about(window_ms)),
        AlgorithmName::TokenBucket => refill("refilled"),
        AlgorithmName::LeakyBucket => refill("drained"),
        // A period is an hour shorter or longer where the clocks change.
        AlgorithmName::Quota => match (window_ms + DAY_MS / 2) / DAY_MS {
            0 => String::new(),
            1 => format!(" per day{}", resets.unwrap_or_default()),
            7 => format!(" per week{}", resets.unwrap_or_default()),
            28..=31 => format!(" per month{}", resets.unwrap_or_default()),
            _ => format!(" per year{}", resets.unwrap_or_default()),
        },
        _ => format!(" per {}", period(window_ms)),
    }
}

const DAY_MS: u64 = 86_400_000;

/// The units left in each region, if the rule is counted in several: `eu 12 left, us 0 and 300 left, ap did not answer`.
pub fn by_region(regions: &[RegionLimits]) -> Option<String> {
    let of_region = |region: &RegionLimits| {
        let left: Option<Vec<_>> = region.limits.iter().map(|limit| limit.remaining).collect();
        match left {
            Some(left) => {
                let left: Vec<_> = left.into_iter().map(grouped).collect();
                format!("{} {} left", region.region, left.join(" and "))
            }
            None => format!("{} did not answer", region.region),
        }
    };
    let all: Vec<_> = regions.iter().map(of_region).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_time_of_a_limit_is_that_of_its_rule() {
        let of = |algorithm: &str, limit: u64, window_ms: u64| {
            let limit: LimitAnswer = serde_json::from_value(json!({
                "rule": "r", "rule_id": "rule_1", "algorithm": algorithm, "mode": "enforce", "allowed": true,
                "limit": limit, "remaining": 1, "window_ms": window_ms, "reset_after_ms": 259_200_000,
                "retry_after_ms": 0, "delay_ms": 0
            }))
            .expect("a limit");
            per(&limit)
        };
        let november_in_berlin = 30 * DAY_MS;
        let october_in_berlin = 31 * DAY_MS + 3_600_000;
        assert_eq!(of("quota", 10, november_in_berlin), " per month, resets in 3 d");
        assert_eq!(of("quota", 10, october_in_berlin), " per month, resets in 3 d");
        assert_eq!(of("quota", 10, 365 * DAY_MS), " per year, resets in 3 d");
        assert_eq!(of("quota", 10, 0), "");
        assert_eq!(of("token_bucket", 15, 1_500), ", 10 per second");
        assert_eq!(of("leaky_bucket", 10, 60_000), ", drained in 1 min");
        assert_eq!(of("fixed_window", 10, 60_000), " per minute");
    }

    #[test]
    fn region_that_did_not_answer_is_shown_as_such() {
        let limit = |remaining: Option<u64>| {
            json!({ "rule": "r", "rule_id": "rule_1", "algorithm": "fixed_window", "mode": "enforce", "allowed": true,
                "limit": 2_000, "remaining": remaining, "window_ms": 1, "reset_after_ms": 1, "retry_after_ms": 0,
                "delay_ms": 0 })
        };
        let regions: Vec<RegionLimits> = serde_json::from_value(json!([
            { "region": "eu", "limits": [limit(Some(1_200)), limit(Some(0))] },
            { "region": "us", "limits": [limit(None), limit(None)] },
        ]))
        .expect("regions");
        let text = "eu 1,200 and 0 left, us did not answer".to_owned();
        assert_eq!(by_region(&regions), Some(text));
        assert_eq!(by_region(&[]), None);
    }

    #[test]
    fn full_means_that_nothing_is_left() {
        let of = |remaining: Option<u64>, limit: u64| {
            let limit: LimitAnswer = serde_json::from_value(json!({
                "rule": "r", "rule_id": "rule_1", "algorithm": "fixed_window", "mode": "enforce", "allowed": true,
                "limit": limit, "remaining": remaining, "window_ms": 1000, "reset_after_ms": 1, "retry_after_ms": 0,
                "delay_ms": 0
            }))
            .expect("a limit");
            let headroom = Headroom::of(&limit);
            (headroom.left, headroom.used_percent, headroom.class())
        };
        assert_eq!(of(Some(10), 10), (Some(10), 0, ""));
        assert_eq!(of(Some(2), 10), (Some(2), 80, "near"));
        assert_eq!(of(Some(1), 1000), (Some(1), 99, "near"));
        assert_eq!(of(Some(0), 10), (Some(0), 100, "full"));
        assert_eq!(of(None, 10), (None, 0, ""));
        assert_eq!(of(Some(30), 10), (Some(10), 0, ""));
    }
}
