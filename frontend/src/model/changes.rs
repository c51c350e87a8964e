//! In what two JSON values differ, field by field, as people read it.

use std::collections::BTreeMap;

use serde_json::Value;

/// One field that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldChange {
    /// Such as `limits[0].window_ms`.
    pub field: String,
    /// What it was; none if it was not there.
    pub before: Option<String>,
    /// What it became; none if it is gone.
    pub after: Option<String>,
}

/// The fields that differ, in the order of their names; nothing that is missing, null or empty on both sides.
pub fn changes(before: Option<&Value>, after: Option<&Value>) -> Vec<FieldChange> {
    let mut fields: BTreeMap<String, (Option<String>, Option<String>)> = BTreeMap::new();
    let mut leaves = Vec::new();
    collect(String::new(), before.unwrap_or(&Value::Null), &mut leaves);
    for (field, text) in leaves.drain(..) {
        fields.entry(field).or_default().0 = Some(text);
    }
    collect(String::new(), after.unwrap_or(&Value::Null), &mut leaves);
    for (field, text) in leaves {
        fields.entry(field).or_default().1 = Some(text);
    }
    let differing = fields.into_iter().filter(|(_, (before, after))| before != after);
    differing.map(|(field, (before, after))| FieldChange { field, before, after }).collect()
}

/// The values that hold no others, with the way to each. A list of plain values is one of them.
fn collect(path: String, value: &Value, leaves: &mut Vec<(String, String)>) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(path, value, leaves);
            }
        }
        Value::Array(items) if items.iter().any(|it| it.is_object() || it.is_array()) => {
            for (at, item) in items.iter().enumerate() {
                collect(format!("{path}[{at}]"), item, leaves);
            }
        }
        Value::Array(items) => {
            if !items.is_empty() {
                let items: Vec<_> = items.iter().map(plain).collect();
                leaves.push((path, items.join(", ")));
            }
        }
        plain_value => leaves.push((path, plain(plain_value))),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(before: Option<&Value>, after: Option<&Value>) -> Vec<String> {
        let shown = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        changes(before, after)
            .into_iter()
            .map(|it| format!("{}: {} > {}", it.field, shown(it.before), shown(it.after)))
            .collect()
    }

    #[test]
    fn only_what_differs_is_told_with_the_way_to_it() {
        let before = json!({
            "name": "login", "mode": "shadow", "count_by": ["user", "ip"], "block_ms": null,
            "limits": [{"limit": 5, "window_ms": 1000}],
        });
        let after = json!({
            "name": "login", "mode": "enforce", "count_by": ["user"], "block_ms": 9,
            "limits": [{"limit": 5, "window_ms": 2000}, {"limit": 7}],
        });
        assert_eq!(
            told(Some(&before), Some(&after)),
            [
                "block_ms: - > 9",
                "count_by: user, ip > user",
                "limits[0].window_ms: 1000 > 2000",
                "limits[1].limit: - > 7",
                "mode: shadow > enforce",
            ]
        );
    }

    #[test]
    fn what_is_made_or_gone_has_one_side_and_nothing_empty() {
        let key = json!({"name": "a", "scopes": [], "expires_at": null, "on": true});
        assert_eq!(told(None, Some(&key)), ["name: - > a", "on: - > yes"]);
        assert_eq!(told(Some(&key), None), ["name: a > -", "on: yes > -"]);
        assert_eq!(told(None, None), [""; 0]);
    }
}
