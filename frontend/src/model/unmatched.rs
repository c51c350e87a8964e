//! Sentences about checks that no rule counted.

use weir_domain::quantity::counted;
use weir_wire::stats::UnmatchedChecks;

use crate::model::number::{grouped, share};

/// The number, the share and the reasons of the checks of a namespace that met no rule, after its name.
pub fn sentence(found: &UnmatchedChecks) -> String {
    let number = counted(found.unmatched, "check", "checks");
    if found.unknown {
        return format!("{number} met no rule: the namespace had no rules.");
    }
    let missing = found.missing.iter().map(|lacked| {
        format!("attribute {} was missing in {}", lacked.attribute, grouped(lacked.checks))
    });
    let conditions = (found.conditions > 0)
        .then(|| format!("the conditions of no rule were met by {}", grouped(found.conditions)));
    let reasons: Vec<String> = missing.chain(conditions).collect();
    let share = share(found.unmatched, found.checks);
    format!("{number} ({share}) met no rule: {}.", reasons.join(", "))
}

/// The name of the namespace in a list.
pub fn name(found: &UnmatchedChecks) -> &str {
    if found.namespace.is_empty() { "other namespaces" } else { &found.namespace }
}

#[cfg(test)]
mod tests {
    use weir_wire::stats::MissingAttribute;

    use super::*;

    fn found(unmatched: u64, lacked: u64) -> UnmatchedChecks {
        let missing = MissingAttribute { attribute: "user".to_owned(), checks: lacked };
        UnmatchedChecks {
            namespace: "default".to_owned(),
            unknown: false,
            checks: 1_000,
            unmatched,
            missing: if lacked > 0 { vec![missing] } else { Vec::new() },
            conditions: unmatched - lacked,
        }
    }

    #[test]
    fn reasons_and_share_are_named() {
        assert_eq!(
            sentence(&found(412, 400)),
            "412 checks (41%) met no rule: attribute user was missing in 400, the conditions of no rule were met by 12."
        );
        assert_eq!(
            sentence(&found(1, 0)),
            "1 check (< 1%) met no rule: the conditions of no rule were met by 1."
        );
        let unknown = UnmatchedChecks { namespace: String::new(), unknown: true, ..found(7, 0) };
        assert_eq!(
            (name(&unknown), sentence(&unknown).as_str()),
            ("other namespaces", "7 checks met no rule: the namespace had no rules.")
        );
    }
}
