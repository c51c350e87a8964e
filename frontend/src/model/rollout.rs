//! The rollout of a change to the gates.

use std::fmt;

use weir_wire::replicas::Replica;

use crate::model::duration::about;

/// The number of gates that serve a version of the rulebook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rollout {
    pub live: usize,
    pub gates: usize,
    /// The delay of the slowest gate; `None` once a gate has reported a later change.
    pub after_ms: Option<u64>,
}

impl Rollout {
    /// The rollout of the version in which a change takes effect.
    pub fn of(version: u64, gates: &[Replica]) -> Self {
        let live = gates.iter().filter(|gate| gate.rulebook_version >= version);
        let exactly = gates.iter().filter(|gate| gate.rulebook_version == version);
        let known = exactly.clone().count() == gates.len();
        Self {
            live: live.count(),
            gates: gates.len(),
            after_ms: exactly.map(|gate| gate.applied_after_ms).max().filter(|_| known),
        }
    }

    pub fn is_complete(self) -> bool {
        self.live == self.gates
    }
}

impl fmt::Display for Rollout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.gates == 0 {
            return write!(f, "no gates are running");
        }
        let gates = if self.gates == 1 { "gate" } else { "gates" };
        write!(f, "live on {} of {} {gates}", self.live, self.gates)?;
        match self.after_ms {
            Some(after_ms) => write!(f, " after {}", about(after_ms)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(version: u64, after_ms: u64) -> Replica {
        serde_json::from_value(serde_json::json!({
            "id": "gate_1", "address": "http://localhost:8081", "rulebook_version": version, "age_ms": 1,
            "applied_at": "2026-11-21T03:00:00Z", "applied_after_ms": after_ms, "started_at": "2026-11-21T03:00:00Z"
        }))
        .expect("a replica")
    }

    #[test]
    fn the_rollout_reports_the_delay_of_the_slowest_gate() {
        let text = |gates: &[Replica]| Rollout::of(7, gates).to_string();
        assert_eq!(text(&[gate(7, 12), gate(7, 38)]), "live on 2 of 2 gates after 38 ms");
        assert_eq!(text(&[gate(7, 12), gate(6, 38)]), "live on 1 of 2 gates");
        assert_eq!(text(&[gate(8, 12), gate(7, 38)]), "live on 2 of 2 gates");
        assert_eq!(text(&[gate(7, 5)]), "live on 1 of 1 gate after 5 ms");
        assert_eq!(text(&[]), "no gates are running");
    }
}
