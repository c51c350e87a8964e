//! The copy of a rule: switched off, under a name that its namespace does not have.

use std::collections::BTreeSet;

use weir_wire::rules::RuleBody;
use weir_wire::words::Mode;

/// The most characters of a rule's name.
const NAME_CHARS_MAX: usize = 63;

/// The copy; `taken` are the names of the rules in the namespace.
pub fn copy_of(rule: &RuleBody, taken: &BTreeSet<String>) -> RuleBody {
    let name = |number: u32| {
        let suffix = if number == 1 { "-copy".to_owned() } else { format!("-copy-{number}") };
        let start = rule.name.chars().take(NAME_CHARS_MAX - suffix.len());
        start.collect::<String>() + &suffix
    };
    // One of more names than there are taken ones is free.
    let last = u32::try_from(taken.len()).unwrap_or(u32::MAX).saturating_add(1);
    let free = (1..=last).map(name).find(|name| !taken.contains(name));
    RuleBody { name: free.unwrap_or_default(), mode: Mode::Off, ..rule.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(name: &str, taken: &[&str]) -> RuleBody {
        let rule = serde_json::json!({
            "name": name, "limits": [{"algorithm": "spacing", "interval_ms": 1000}]
        });
        let rule: RuleBody = serde_json::from_value(rule).expect("a rule");
        copy_of(&rule, &taken.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn copies_are_off_and_have_free_names() {
        let copy = copied("login", &["login"]);
        assert_eq!((copy.name.as_str(), copy.mode), ("login-copy", Mode::Off));
        assert_eq!(copied("login", &["login-copy", "login-copy-2"]).name, "login-copy-3");
    }

    #[test]
    fn names_of_copies_are_short_enough() {
        let long = "x".repeat(63);
        let copy = copied(&long, &[]);
        assert_eq!(copy.name.len(), 63);
        assert!(copy.name.ends_with("x-copy"));
        assert!(copy.parse().is_ok());
    }
}
