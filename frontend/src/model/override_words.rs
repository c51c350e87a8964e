//! Overrides in words, and in what two of them differ.

use weir_wire::overrides::OverrideBody;
use weir_wire::time::DateTime;
use weir_wire::words::Action;

use crate::model::difference::Difference;
use crate::model::{subject, words};

/// What holds instead of the rule's limits.
pub fn instead(body: &OverrideBody) -> String {
    match (&body.limits, body.action) {
        (Some(limits), _) => limits.iter().map(words::limit).collect::<Vec<_>>().join("; "),
        (None, Some(Action::Deny)) => "always refused".to_owned(),
        (None, _) => "always passes".to_owned(),
    }
}

/// All in which two overrides of a rule differ; `time` says a time to the person.
pub fn differences(
    a: &OverrideBody,
    b: &OverrideBody,
    time: impl Fn(DateTime) -> String,
) -> Vec<Difference> {
    let ends = |body: &OverrideBody| body.expires_at.map_or_else(|| "never".to_owned(), &time);
    let all = [
        ("Subject", subject::words(&a.subject), subject::words(&b.subject)),
        ("Instead", instead(a), instead(b)),
        ("Ends", ends(a), ends(b)),
        ("Reason", a.reason.clone().unwrap_or_default(), b.reason.clone().unwrap_or_default()),
    ];
    let differs = all.into_iter().filter(|(_, before, after)| before != after);
    let difference = |(what, before, after): (&str, String, String)| Difference {
        what: what.to_owned(),
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
    fn only_what_differs_is_told() {
        let body = |more: serde_json::Value| {
            let mut body = json!({ "rule_id": "rule_1", "subject": { "user": "u-1" } });
            for (name, value) in more.as_object().expect("an object") {
                body[name] = value.clone();
            }
            serde_json::from_value::<OverrideBody>(body).expect("an override")
        };
        let a = body(json!({ "action": "deny", "expires_at": "2026-12-01T00:00:00Z" }));
        let b = body(json!({ "action": "allow", "reason": "a mistake" }));
        let told = differences(&a, &b, |_| "in December".to_owned());
        let told: Vec<_> = told
            .iter()
            .map(|it| (it.what.as_str(), it.before.as_deref(), it.after.as_deref()))
            .collect();
        let expected = [
            ("Instead", Some("always refused"), Some("always passes")),
            ("Ends", Some("in December"), Some("never")),
            ("Reason", Some(""), Some("a mistake")),
        ];
        assert_eq!(told, expected);
        assert_eq!(differences(&a, &a, |_| String::new()), []);
    }
}
