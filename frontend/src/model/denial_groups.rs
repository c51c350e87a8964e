//! Denials of the same subject by the same rule as one entry.

use std::collections::BTreeMap;

use weir_wire::stats::DenialEntry;

/// The denials of a subject by a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DenialGroup {
    /// The newest.
    pub last: DenialEntry,
    /// The number of denied checks.
    pub checks: u64,
    /// The number of those decided without Redis.
    pub degraded: u64,
}

/// Groups denials, which are the newest first. The group with the newest denial is the first.
pub fn denial_groups(denials: Vec<DenialEntry>) -> Vec<DenialGroup> {
    let mut groups: Vec<DenialGroup> = Vec::new();
    let mut places: BTreeMap<(String, bool, BTreeMap<String, String>), usize> = BTreeMap::new();
    for denial in denials {
        let checks = u64::from(denial.stands_for);
        let degraded = if denial.degraded { checks } else { 0 };
        let key = (denial.rule_id.clone(), denial.shadow, denial.subject.clone());
        if let Some(group) = places.get(&key).and_then(|place| groups.get_mut(*place)) {
            group.checks += checks;
            group.degraded += degraded;
        } else {
            places.insert(key, groups.len());
            groups.push(DenialGroup { last: denial, checks, degraded });
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn denials_of_a_subject_become_one_entry() {
        let denial = |second: u32, rule: &str, user: &str, stands_for: u32| -> DenialEntry {
            serde_json::from_value(json!({
                "id": format!("denial_{second}"), "at": format!("2026-11-21T22:40:{second:02}Z"), "namespace": "api",
                "rule_id": rule, "rule": rule, "shadow": false, "subject": {"user": user}, "cost": 1,
                "retry_after_ms": 10, "degraded": second == 7, "stands_for": stands_for
            }))
            .expect("a denial")
        };
        let denials = vec![
            denial(9, "a", "u-1", 1),
            denial(8, "b", "u-1", 1),
            denial(7, "a", "u-1", 5),
            denial(6, "a", "u-2", 1),
        ];
        let groups = denial_groups(denials);
        let shown: Vec<_> = groups
            .iter()
            .map(|group| {
                (&*group.last.rule_id, &*group.last.subject["user"], group.checks, group.degraded)
            })
            .collect();
        assert_eq!(shown, [("a", "u-1", 6, 5), ("b", "u-1", 1, 0), ("a", "u-2", 1, 0)]);
        assert_eq!(groups[0].last.id, "denial_9");
        assert_eq!(denial_groups(Vec::new()), []);
    }
}
