//! Which rules of a list somebody wants to see.

use weir_wire::rules::RuleAnswer;
use weir_wire::words::Mode;

use crate::model::words;

/// Whether every word of `typed` occurs in the rule's names or in what it says, and the mode is the wanted one.
pub fn shows(rule: &RuleAnswer, typed: &str, mode: Option<Mode>) -> bool {
    if mode.is_some_and(|mode| mode != rule.rule.mode) {
        return false;
    }
    let text = format!(
        "{} {} {} {}",
        rule.rule.namespace,
        rule.rule.name,
        rule.rule.description,
        words::sentence(&rule.rule)
    )
    .to_lowercase();
    typed.to_lowercase().split_whitespace().all(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_words_must_occur_somewhere() {
        let rule: RuleAnswer = serde_json::from_value(serde_json::json!({
            "id": "rule_1", "namespace": "api", "name": "login-per-user", "count_by": ["user"],
            "limits": [{"algorithm": "spacing", "interval_ms": 1000}],
            "revision": 1, "rulebook_version": 1,
            "created_at": "2026-11-21T03:00:00Z", "updated_at": "2026-11-21T03:00:00Z"
        }))
        .expect("a rule");
        assert!(shows(&rule, "", None));
        assert!(shows(&rule, "API login", None));
        assert!(shows(&rule, "apart", Some(Mode::Enforce)));
        assert!(!shows(&rule, "login nobody", None));
        assert!(!shows(&rule, "", Some(Mode::Off)));
    }
}
