//! The parts of a value that a change changes, each with its path: `limits[0].limit: 500 -> 100`.

use std::collections::BTreeSet;

use serde_json::Value;

/// The most parts of one field that are named.
const PARTS_MAX: usize = 20;

/// One line for each part of the field that differs.
pub fn differences(field: &str, before: &Value, after: &Value) -> Vec<String> {
    let mut parts = Vec::new();
    compare(field, before, after, &mut parts);
    let further = parts.len().saturating_sub(PARTS_MAX);
    parts.truncate(PARTS_MAX);
    if further > 0 {
        parts.push(format!("{field}: {further} more differences"));
    }
    parts
}

fn compare(path: &str, before: &Value, after: &Value, parts: &mut Vec<String>) {
    match (before, after) {
        _ if before == after => {}
        (Value::Object(old), Value::Object(new)) => {
            let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for key in keys {
                let of = |fields: &serde_json::Map<String, Value>| fields.get(key).cloned();
                let old = of(old).unwrap_or_default();
                let new = of(new).unwrap_or_default();
                compare(&format!("{path}.{key}"), &old, &new, parts);
            }
        }
        (Value::Array(old), Value::Array(new)) => items(path, old, new, parts),
        _ => parts.push(format!("{path}: {} -> {}", one_line(before), one_line(after))),
    }
}

/// Compares the items between those that both lists begin and end with, so an inserted item is one difference. The numbers are
/// those of the list after the change; of removed items those before.
fn items(path: &str, old: &[Value], new: &[Value], parts: &mut Vec<String>) {
    let same = |pairs: &mut dyn Iterator<Item = (&Value, &Value)>| {
        pairs.take_while(|(old, new)| old == new).count()
    };
    let first = same(&mut old.iter().zip(new));
    let old = &old[first..];
    let new = &new[first..];
    let last = same(&mut old.iter().rev().zip(new.iter().rev()));
    let old = &old[..old.len() - last];
    let new = &new[..new.len() - last];
    for at in 0..old.len().max(new.len()) {
        let of = |items: &[Value]| items.get(at).cloned().unwrap_or_default();
        compare(&format!("{path}[{}]", first + at), &of(old), &of(new), parts);
    }
}

/// A value in one line. Its fields are sorted, because the database returns those before a change in an order of its own.
fn one_line(value: &Value) -> String {
    let mut value = value.clone();
    value.sort_all_objects();
    value.to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn limit(limit: u64) -> Value {
        json!({ "algorithm": "fixed_window", "limit": limit, "window_ms": 60_000 })
    }

    #[test]
    fn only_the_changed_part_is_named_with_its_path() {
        let before = json!([limit(500), limit(7), limit(9)]);
        let after = json!([limit(100), limit(7), limit(9)]);
        assert_eq!(differences("limits", &before, &after), ["limits[0].limit: 500 -> 100"]);
        let (before, after) = (
            json!({ "ip": { "from": "header", "name": "a" } }),
            json!({ "ip": {
            "from": "address" } }),
        );
        assert_eq!(
            differences("attributes", &before, &after),
            [r#"attributes.ip.from: "header" -> "address""#, r#"attributes.ip.name: "a" -> null"#]
        );
        assert_eq!(differences("limits", &before, &before), [""; 0]);
        assert_eq!(
            differences("mode", &Value::Null, &json!("shadow")),
            [r#"mode: null -> "shadow""#]
        );
    }

    #[test]
    fn inserted_and_removed_items_are_one_difference_each() {
        let long = json!([limit(1), limit(2), limit(3)]);
        let short = json!([limit(1), limit(3)]);
        let two = r#"{"algorithm":"fixed_window","limit":2,"window_ms":60000}"#;
        assert_eq!(differences("limits", &short, &long), [format!("limits[1]: null -> {two}")]);
        assert_eq!(differences("limits", &long, &short), [format!("limits[1]: {two} -> null")]);
    }

    #[test]
    fn fields_of_a_value_are_in_one_order() {
        let before = json!({ "limit": 5, "algorithm": "fixed_window" });
        let after = json!({ "algorithm": "fixed_window", "limit": 6 });
        assert_eq!(one_line(&before).replace('5', "6"), one_line(&after));
    }

    #[test]
    fn many_differences_are_counted() {
        let before = Value::from((0..50).collect::<Vec<_>>());
        let after = Value::from((100..150).collect::<Vec<_>>());
        let parts = differences("match", &before, &after);
        assert_eq!((parts.len(), parts[20].as_str()), (21, "match: 30 more differences"));
    }
}
