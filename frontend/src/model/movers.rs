//! The rules whose denials changed most between two periods.

use weir_wire::stats::TopEntry;

/// A rule with its denied checks before and now, those of shadow mode included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mover {
    pub rule_id: String,
    pub rule: String,
    pub before: u64,
    pub now: u64,
}

impl Mover {
    fn change(&self) -> u64 {
        self.now.abs_diff(self.before)
    }
}

/// The rules of two lists with the greatest change, the greatest first; at most `most`.
pub fn movers(now: &[TopEntry], before: &[TopEntry], most: usize) -> Vec<Mover> {
    let denied_of = |list: &[TopEntry], id: &str| {
        list.iter().find(|entry| entry.rule_id == id).map_or(0, |entry| entry.denied)
    };
    let gone = before.iter().filter(|entry| now.iter().all(|other| other.rule_id != entry.rule_id));
    let mut movers: Vec<_> = now
        .iter()
        .chain(gone)
        .map(|entry| Mover {
            rule_id: entry.rule_id.clone(),
            rule: entry.rule.clone().unwrap_or_else(|| "Deleted rule".to_owned()),
            before: denied_of(before, &entry.rule_id),
            now: denied_of(now, &entry.rule_id),
        })
        .filter(|mover| mover.change() > 0)
        .collect();
    movers.sort_by_key(|mover| std::cmp::Reverse(mover.change()));
    movers.truncate(most);
    movers
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_greatest_changes_come_first() {
        let entry = |rule: &str, denied: u64| -> TopEntry {
            serde_json::from_value(json!({
                "rule_id": rule, "rule": rule, "namespace": "api", "subject": null, "checks": 900, "denied": denied
            }))
            .expect("an entry")
        };
        let now = [entry("a", 40), entry("b", 7), entry("c", 300)];
        let before = [entry("a", 35), entry("b", 7), entry("d", 90)];
        let movers = movers(&now, &before, 2);
        let shown: Vec<_> = movers.iter().map(|one| (&*one.rule, one.before, one.now)).collect();
        assert_eq!(shown, [("c", 0, 300), ("d", 90, 0)]);
    }
}
