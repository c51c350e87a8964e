//! How long changes took to reach all gates.

use weir_wire::replicas::Rollout;

/// The times of the changes that every gate has reported, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RolloutTimes {
    pub median_ms: u64,
    pub slowest_ms: u64,
    /// The number of changes.
    pub changes: usize,
}

impl RolloutTimes {
    /// `None` if no change has reached all gates.
    pub fn of(rollouts: &[Rollout]) -> Option<Self> {
        let mut times: Vec<u64> = rollouts.iter().filter_map(slowest_gate_ms).collect();
        times.sort_unstable();
        let slowest_ms = *times.last()?;
        Some(Self { median_ms: times[(times.len() - 1) / 2], slowest_ms, changes: times.len() })
    }
}

/// The time until the slowest gate reported a change; `None` until all have.
pub fn slowest_gate_ms(rollout: &Rollout) -> Option<u64> {
    let times = rollout.gates.iter().map(|gate| gate.after_ms).collect::<Option<Vec<_>>>()?;
    times.into_iter().max()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rollout_lasts_until_its_slowest_gate_reports() {
        let rollout = |times: [Option<u64>; 2]| -> Rollout {
            let gate = |after_ms: Option<u64>| json!({"gate_id": "gate_1", "reported_at": null, "after_ms": after_ms});
            serde_json::from_value(json!({
                "rulebook_version": 1, "published_at": null, "gates": times.map(gate)
            }))
            .expect("a rollout")
        };
        let rollouts = [
            rollout([Some(40), Some(90)]),
            rollout([Some(30), None]),
            rollout([Some(700), Some(20)]),
            rollout([Some(10), Some(20)]),
        ];
        let expected = RolloutTimes { median_ms: 90, slowest_ms: 700, changes: 3 };
        assert_eq!(RolloutTimes::of(&rollouts), Some(expected));
        assert_eq!(RolloutTimes::of(&rollouts[1..2]), None);
    }
}
