//! Texts for overrides and for the differences between two of them.

use weir_wire::overrides::OverrideBody;
use weir_wire::time::DateTime;

use crate::model::difference::Difference;
use crate::model::{labels, subject};

/// The effect of an override in place of the rule's limits.
pub fn effect(body: &OverrideBody) -> String {
    labels::effect(body.limits.as_deref(), body.action)
}

/// All differences between two overrides of a rule; `time` formats a time.
pub fn differences(
    a: &OverrideBody,
    b: &OverrideBody,
    time: impl Fn(DateTime) -> String,
) -> Vec<Difference> {
    let starts = |body: &OverrideBody| body.starts_at.map_or_else(|| "at once".to_owned(), &time);
    let ends = |body: &OverrideBody| body.expires_at.map_or_else(|| "never".to_owned(), &time);
    let all = [
        ("Subject", subject::label(&a.subject), subject::label(&b.subject)),
        ("Effect", effect(a), effect(b)),
        ("Starts", starts(a), starts(b)),
        ("Expires", ends(a), ends(b)),
        ("Reason", a.reason.clone().unwrap_or_default(), b.reason.clone().unwrap_or_default()),
    ];
    let differs = all.into_iter().filter(|(_, before, after)| before != after);
    let difference = |(label, before, after): (&str, String, String)| Difference {
        label: label.to_owned(),
        before: Some(before),
        after: Some(after),
    };
    differs.map(difference).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_differences_are_listed() {
        let body = |more: serde_json::Value| {
            let mut body = json!({ "rule_id": "rule_1", "subject": { "user": "u-1" } });
            for (name, value) in more.as_object().expect("an object") {
                body[name] = value.clone();
            }
            serde_json::from_value::<OverrideBody>(body).expect("an override")
        };
        let a = body(json!({ "action": "deny", "expires_at": "2026-12-01T00:00:00Z" }));
        let b = body(json!({ "action": "allow", "reason": "a mistake" }));
        let found = differences(&a, &b, |_| "in December".to_owned());
        let found: Vec<_> = found
            .iter()
            .map(|difference| {
                (
                    difference.label.as_str(),
                    difference.before.as_deref(),
                    difference.after.as_deref(),
                )
            })
            .collect();
        let expected = [
            ("Effect", Some("Deny"), Some("Allow")),
            ("Expires", Some("in December"), Some("never")),
            ("Reason", Some(""), Some("a mistake")),
        ];
        assert_eq!(found, expected);
        assert_eq!(differences(&a, &a, |_| String::new()), []);
    }
}
