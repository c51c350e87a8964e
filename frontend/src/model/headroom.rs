//! The units left of a limit.

use weir_wire::check::LimitAnswer;

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
