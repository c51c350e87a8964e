//! Limits that admit a multiple of the units.

use super::LimitBody;

impl LimitBody {
    /// The same limit with `factor` times the units. The result can exceed the bounds of the algorithm.
    #[must_use]
    pub fn times(mut self, factor: u32) -> Self {
        let by = u64::from(factor);
        match &mut self {
            Self::FixedWindow { limit, .. }
            | Self::SlidingWindowLog { limit, .. }
            | Self::SlidingWindowCounter { limit, .. }
            | Self::Quota { limit, .. } => *limit = limit.saturating_mul(by),
            Self::TokenBucket { capacity: most, refill_tokens: flow, .. }
            | Self::LeakyBucket { capacity: most, drain_units: flow, .. } => {
                *most = most.saturating_mul(by);
                *flow = flow.saturating_mul(by);
            }
            Self::Concurrency { capacity, .. } => *capacity = capacity.saturating_mul(by),
            // At least 1 ms: an interval of 0 is no limit.
            Self::Spacing { interval_ms } => *interval_ms = (*interval_ms / by.max(1)).max(1),
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use weir_domain::algorithm::Algorithm;

    use super::super::AlgorithmName;
    use super::*;

    #[test]
    fn every_algorithm_admits_the_multiple() {
        for name in AlgorithmName::ALL {
            let mut limit = serde_json::json!({ "algorithm": name.as_str() });
            for parameter in name.kind().parameters() {
                limit[parameter.name] = match parameter.name {
                    "count_denied" => true.into(),
                    "period" => "day".into(),
                    "time_zone" => "UTC".into(),
                    "anchor_day" => 1.into(),
                    // Of quotas that never renew only.
                    "ends_at" => continue,
                    _ => 300.into(),
                };
            }
            let before: LimitBody = serde_json::from_value(limit).expect("all are there");
            let algorithm =
                |body: &LimitBody| Algorithm::parse(body.clone().into()).expect("valid");
            let after = algorithm(&before.clone().times(3));
            let before = algorithm(&before);
            // Whole days, so that each algorithm has whole windows.
            let (stretch, cost) = (30 * 86_400_000_000, 1);
            let admitted = |algorithm: &Algorithm| algorithm.worst_case(stretch, cost);
            let (few, many) = (admitted(&before), admitted(&after));
            assert!((few * 3).abs_diff(many) <= 3, "{}: {few} {many}", name.as_str());
        }
    }

    #[test]
    fn an_interval_never_becomes_zero() {
        let spacing = LimitBody::Spacing { interval_ms: 2 };
        assert_eq!(spacing.times(100), LimitBody::Spacing { interval_ms: 1 });
    }
}
