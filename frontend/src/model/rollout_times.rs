//! How long changes took to reach all gates, and what they changed.

use weir_wire::replicas::Rollout;
use weir_wire::stats::Event;

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

/// The most rollouts that the API lists without another limit.
const LISTED: usize = 50;

/// The events of the change at a place of the list. The changes of a tenant follow one another, and each is recorded before it is
/// published, so its events are those since the change before it.
pub fn events_of<'a>(rollouts: &[Rollout], at: usize, events: &'a [Event]) -> Vec<&'a Event> {
    let published = |at: usize| Some(rollouts.get(at)?.published_at?.0);
    let since = published(at + 1);
    let is_first = at + 1 == rollouts.len() && at + 1 < LISTED;
    let (Some(until), true) = (published(at), since.is_some() || is_first) else {
        return Vec::new();
    };
    let is_of = |event: &&Event| {
        event.action.is_some()
            && event.at.0 <= until
            && since.is_none_or(|since| event.at.0 > since)
    };
    events.iter().filter(is_of).collect()
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

    #[test]
    fn a_rollout_has_the_events_since_the_one_before() {
        let rollout = |second: u32| -> Rollout {
            let at = format!("2026-11-21T03:00:{second:02}.500Z");
            serde_json::from_value(json!({"rulebook_version": 1, "published_at": at, "gates": []}))
                .expect("a rollout")
        };
        let event = |second: u32, action: Option<&str>| -> Event {
            let at = format!("2026-11-21T03:00:{second:02}.499Z");
            serde_json::from_value(json!({
                "kind": if action.is_some() { "rule_change" } else { "alert" }, "at": at, "until": null, "action": action,
                "actor": null, "rule_id": null, "rule": second.to_string(), "namespace": null, "alert": null, "checks": null
            }))
            .expect("an event")
        };
        let rollouts = [rollout(30), rollout(20), rollout(10)];
        let change = Some("rule.update");
        let events = [event(30, change), event(30, None), event(10, change), event(9, change)];
        let found = |at: usize| {
            events_of(&rollouts, at, &events)
                .iter()
                .filter_map(|event| event.rule.as_deref())
                .collect::<Vec<_>>()
        };
        assert_eq!(found(0), ["30"], "no alert");
        assert_eq!(found(1), [""; 0], "a key, of which there is no event");
        assert_eq!(found(2), ["10", "9"], "one file with two rules");
        let full: Vec<_> = std::iter::repeat_n(rollout(30), LISTED).collect();
        assert!(events_of(&full, LISTED - 1, &events).is_empty(), "older changes are not listed");
    }
}
