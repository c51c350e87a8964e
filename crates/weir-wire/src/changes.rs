//! The differences between two JSON values, field by field.

use std::collections::BTreeMap;

use serde_json::Value;

/// One field that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldChange {
    /// The path, such as `limits[0].window_ms`.
    pub field: String,
    /// The old value; `None` if the field was added.
    pub before: Option<String>,
    /// The new value; `None` if the field was removed.
    pub after: Option<String>,
}

/// The fields that differ, sorted by path. Missing, null and empty values are equal.
pub fn changes(before: Option<&Value>, after: Option<&Value>) -> Vec<FieldChange> {
    let mut fields: BTreeMap<String, [Option<String>; 2]> = BTreeMap::new();
    for (side, value) in [before, after].into_iter().enumerate() {
        let mut leaves = Vec::new();
        collect(String::new(), value.unwrap_or(&Value::Null), &mut leaves);
        for (field, text) in leaves {
            fields.entry(field).or_default()[side] = Some(text);
        }
    }
    let differing = fields.into_iter().filter(|(_, [before, after])| before != after);
    differing.map(|(field, [before, after])| FieldChange { field, before, after }).collect()
}

/// Collects the leaf values with their paths. A list of scalars is one leaf.
fn collect(path: String, value: &Value, leaves: &mut Vec<(String, String)>) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(path, value, leaves);
            }
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
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

    fn described(before: Option<&Value>, after: Option<&Value>) -> Vec<String> {
        let shown = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        changes(before, after)
            .into_iter()
            .map(|change| {
                format!("{}: {} > {}", change.field, shown(change.before), shown(change.after))
            })
            .collect()
    }

    #[test]
    fn only_changed_fields_are_listed_with_their_paths() {
        let before = json!({
            "name": "login", "mode": "shadow", "count_by": ["user", "ip"], "block_ms": null,
            "limits": [{"limit": 5, "window_ms": 1000}],
        });
        let after = json!({
            "name": "login", "mode": "enforce", "count_by": ["user"], "block_ms": 9,
            "limits": [{"limit": 5, "window_ms": 2000}, {"limit": 7}],
        });
        assert_eq!(
            described(Some(&before), Some(&after)),
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
    fn created_and_deleted_objects_have_one_side_without_empty_fields() {
        let key = json!({"name": "a", "scopes": [], "expires_at": null, "on": true});
        assert_eq!(described(None, Some(&key)), ["name: - > a", "on: - > yes"]);
        assert_eq!(described(Some(&key), None), ["name: a > -", "on: yes > -"]);
        assert_eq!(described(None, None), [""; 0]);
    }
}
