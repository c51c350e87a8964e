//! The rules whose denials changed most between two periods.

use weir_wire::stats::TopEntry;

/// A rule with its denied checks before and now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mover {
    pub rule_id: String,
    pub rule: String,
    /// Whether these are the checks that shadow mode would have denied, instead of the denied ones.
    pub shadow: bool,
    pub before: u64,
    pub now: u64,
}

impl Mover {
    fn change(&self) -> u64 {
        self.now.abs_diff(self.before)
    }
}

/// The rules of two lists with the greatest change, the greatest first; at most `most`. A list has at most `listed` rules.
pub fn movers(now: &[TopEntry], before: &[TopEntry], listed: usize, most: usize) -> Vec<Mover> {
    let gone = before.iter().filter(|entry| now.iter().all(|other| other.rule_id != entry.rule_id));
    let of_kind = |entry: &TopEntry, shadow: bool| {
        let count = |list| count(list, listed, &entry.rule_id, shadow);
        let (before, now) = (count(before)?, count(now)?);
        let (rule_id, rule) = (entry.rule_id.clone(), entry.rule.clone());
        let rule = rule.unwrap_or_else(|| "Deleted rule".to_owned());
        Some(Mover { rule_id, rule, shadow, before, now })
    };
    let both = |entry| [false, true].into_iter().filter_map(move |shadow| of_kind(entry, shadow));
    let mut movers: Vec<_> =
        now.iter().chain(gone).flat_map(both).filter(|mover| mover.change() > 0).collect();
    movers.sort_by_key(|mover| std::cmp::Reverse(mover.change()));
    movers.truncate(most);
    movers
}

/// The denials of a rule; `None` if they are unknown, because a full list leaves the rule out.
fn count(list: &[TopEntry], listed: usize, id: &str, shadow: bool) -> Option<u64> {
    if let Some(entry) = list.iter().find(|entry| entry.rule_id == id) {
        return Some(if shadow { entry.shadow_denied } else { entry.enforced() });
    }
    // Those with the fewest denials are the last.
    let all_listed = list.len() < listed || list.last().is_some_and(|last| last.denied == 0);
    all_listed.then_some(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(rule: &str, denied: u64, shadow_denied: u64) -> TopEntry {
        serde_json::from_value(json!({
            "rule_id": rule, "rule": rule, "namespace": "api", "subject": null, "checks": 900, "denied": denied,
            "shadow_denied": shadow_denied
        }))
        .expect("an entry")
    }

    fn shown(movers: &[Mover]) -> Vec<(&str, bool, u64, u64)> {
        movers.iter().map(|one| (&*one.rule, one.shadow, one.before, one.now)).collect()
    }

    #[test]
    fn the_greatest_changes_come_first() {
        let now = [entry("a", 40, 0), entry("b", 7, 0), entry("c", 300, 0)];
        let before = [entry("a", 35, 0), entry("b", 7, 0), entry("d", 90, 0)];
        let movers = movers(&now, &before, 100, 2);
        assert_eq!(shown(&movers), [("c", false, 0, 300), ("d", false, 90, 0)]);
    }

    #[test]
    fn denials_of_shadow_mode_are_no_denials() {
        let now = [entry("login", 6, 3), entry("trial", 50, 50)];
        let movers = movers(&now, &[entry("login", 2, 0)], 100, 6);
        let expected = [("trial", true, 0, 50), ("login", true, 0, 3), ("login", false, 2, 3)];
        assert_eq!(shown(&movers), expected);
    }

    #[test]
    fn rules_that_a_full_list_leaves_out_have_unknown_denials() {
        let before: Vec<_> = (0..100).map(|at| entry(&format!("r{at}"), 1_000 - at, 0)).collect();
        let mut now = before.clone();
        now[99] = entry("new", 500, 0);
        assert_eq!(shown(&movers(&now, &before, 100, 6)), []);
        now[99] = entry("r99", 800, 0);
        assert_eq!(shown(&movers(&now, &before, 100, 6)), [("r99", false, 901, 800)]);
    }
}
