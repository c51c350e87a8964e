//! The differences between two JSON values, field by field.

use std::collections::BTreeMap;

use serde_json::Value;

use super::words::arrow;

/// Fields that differ after every change.
const STAMPS: [&str; 4] = ["revision", "rulebook_version", "updated_at", "created_at"];

/// The fields that differ, by path: `name A → B`. Missing, null and empty values are equal.
pub(super) fn differences(before: &Value, after: &Value) -> Vec<String> {
    let mut fields: BTreeMap<String, [Option<String>; 2]> = BTreeMap::new();
    for (side, value) in [before, after].into_iter().enumerate() {
        let mut leaves = Vec::new();
        collect(String::new(), value, &mut leaves);
        for (field, text) in leaves {
            fields.entry(field).or_default()[side] = Some(text);
        }
    }
    let is_stamp = |field: &str| STAMPS.contains(&field);
    let differing =
        fields.into_iter().filter(|(field, [one, other])| one != other && !is_stamp(field));
    let text = |side: Option<String>| side.unwrap_or_else(|| "none".to_owned());
    differing.map(|(field, [before, after])| arrow(&field, &text(before), &text(after))).collect()
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
                leaves.push((path, items.iter().map(plain).collect::<Vec<_>>().join(", ")));
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
