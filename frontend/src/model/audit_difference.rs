//! The difference that an audit entry made, as a short text.

use serde_json::Value;
use weir_wire::audit::AuditEntry;
use weir_wire::rules::RuleBody;

use crate::model::changes::changes;
use crate::model::{json, labels};

/// The differences that one line names.
const NAMED_MAX: usize = 3;

/// `mode: Enforced → Off; limits: 5 per minute → 4 per minute`. `None` if the entry has only one side, or no difference.
pub fn difference(entry: &AuditEntry) -> Option<String> {
    let (before, after) = (entry.before.as_ref()?, entry.after.as_ref()?);
    let mut parts = Vec::new();
    let rules = (entry.object_kind == "rule").then(|| (rule(before), rule(after)));
    let in_words = if let Some((Some(before), Some(after))) = rules {
        parts.extend(rule_differences(&before, &after));
        true
    } else {
        false
    };
    for change in changes(Some(before), Some(after)) {
        let top = change.field.split(['.', '[']).next().unwrap_or_default();
        if in_words && IN_WORDS.contains(&top) || STAMPS.contains(&top) {
            continue;
        }
        let side = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
        parts.push(part(&change.field, &side(change.before), &side(change.after)));
    }
    let more = parts.len().saturating_sub(NAMED_MAX);
    parts.truncate(NAMED_MAX);
    let text = parts.join("; ");
    match (text.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(text),
        (false, more) => Some(format!("{text}; and {more} more")),
    }
}

/// The fields of a rule that have a text of their own.
const IN_WORDS: [&str; 5] = ["mode", "action", "match", "count_by", "limits"];
/// Fields that change with every change.
const STAMPS: [&str; 4] = ["revision", "rulebook_version", "updated_at", "created_at"];

fn rule(side: &Value) -> Option<RuleBody> {
    json::read_value(side).ok()
}

fn rule_differences(before: &RuleBody, after: &RuleBody) -> Vec<String> {
    let limits = |rule: &RuleBody| {
        let limits: Vec<_> = rule.limits.iter().map(labels::limit).collect();
        if limits.is_empty() { "none".to_owned() } else { limits.join(", ") }
    };
    let texts = |rule: &RuleBody| {
        [
            ("mode", rule.mode.title().to_owned()),
            ("action", rule.action.as_str().to_owned()),
            ("matches", labels::matches(&rule.conditions)),
            ("counts", labels::counted_by(&rule.count_by)),
            ("limits", limits(rule)),
        ]
    };
    let pairs = texts(before).into_iter().zip(texts(after));
    pairs
        .filter(|((_, before), (_, after))| before != after)
        .map(|((name, before), (_, after))| part(name, &before, &after))
        .collect()
}

fn part(name: &str, before: &str, after: &str) -> String {
    format!("{name}: {before} → {after}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(kind: &str, before: &Value, after: &Value) -> Option<String> {
        let entry = serde_json::from_value(json!({
            "id": "audit_1", "tenant_id": null, "seq": 1, "at": "2026-11-21T03:00:00Z",
            "actor": {"kind": "person", "id": "user_1", "name": "ada@example.com"},
            "action": format!("{kind}.update"), "object_kind": kind, "object_id": format!("{kind}_1"),
            "before": before, "after": after, "ip": null, "request_id": "req_1"
        }));
        difference(&entry.expect("an entry"))
    }

    #[test]
    fn rules_differ_in_words() {
        let rule = |mode: &str, interval_ms: u32| {
            json!({
                "name": "login", "mode": mode, "count_by": ["user"],
                "limits": [{"algorithm": "spacing", "interval_ms": interval_ms}],
            })
        };
        let found = text("rule", &rule("enforce", 1000), &rule("off", 5000));
        let limits = "limits: at least 1 s apart → at least 5 s apart";
        assert_eq!(found, Some(format!("mode: Enforced → Off; {limits}")));
        assert_eq!(text("rule", &rule("off", 1000), &rule("off", 1000)), None);
    }

    #[test]
    fn other_objects_differ_in_fields() {
        let found = text("tenant", &json!({"name": "A"}), &json!({"name": "B", "record": true}));
        assert_eq!(found.as_deref(), Some("name: A → B; record: none → yes"));
        assert_eq!(text("key", &Value::Null, &json!({"name": "B"})), None);
        let many = |value: u32| json!({"a": value, "b": value, "c": value, "d": value, "e": value});
        let found = text("tenant", &many(1), &many(2)).unwrap_or_default();
        assert_eq!(found, "a: 1 → 2; b: 1 → 2; c: 1 → 2; and 2 more");
    }
}
