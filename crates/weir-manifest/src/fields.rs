//! A document as JSON, with the place of each field.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::yaml::{Content, Node, Position};

/// Fields whose values are texts. `value: 1.10` and `name: 007` mean what they show.
const TEXTS: [&str; 16] = [
    "apiVersion",
    "attribute",
    "count_by",
    "customer",
    "description",
    "domain",
    "from",
    "name",
    "namespace",
    "note",
    "plan",
    "reason",
    "rule",
    "value",
    "webhook",
    "webhooks",
];

/// The places of the fields of a document, by their paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fields {
    positions: HashMap<String, Position>,
    root: Position,
}

/// A path with one more name.
pub(crate) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

impl Fields {
    /// Converts a document.
    pub(crate) fn of(document: &Node) -> (Value, Self) {
        let mut fields = Self { positions: HashMap::new(), root: document.at };
        let value = fields.convert(document, "", false);
        (value, fields)
    }

    /// The place of a path, or of the nearest part around it that the document has.
    pub(crate) fn position(&self, path: &str) -> Position {
        let mut path = path;
        loop {
            if let Some(position) = self.positions.get(path) {
                return *position;
            }
            match path.rfind(['.', '[']) {
                Some(end) => path = &path[..end],
                None => return self.root,
            }
        }
    }

    /// Adds a place.
    pub(crate) fn place(&mut self, path: String, at: Position) {
        self.positions.insert(path, at);
    }

    fn convert(&mut self, node: &Node, path: &str, is_text: bool) -> Value {
        match &node.content {
            Content::Scalar { text, plain } => scalar(node, text, *plain && !is_text),
            Content::List(items) => items
                .iter()
                .enumerate()
                .map(|(at, item)| {
                    let path = format!("{path}[{at}]");
                    self.place(path.clone(), item.at);
                    self.convert(item, &path, is_text)
                })
                .collect(),
            Content::Map(entries) => {
                let mut map = Map::new();
                // The values of the subject of an override.
                let are_texts = path.ends_with("].subject");
                for entry in entries {
                    let path = join(path, &entry.key);
                    self.place(path.clone(), entry.at);
                    let is_text = are_texts || TEXTS.contains(&entry.key.as_str());
                    map.insert(entry.key.clone(), self.convert(&entry.value, &path, is_text));
                }
                Value::Object(map)
            }
        }
    }
}

/// A scalar without quotes can be a whole number, `true`, `false` or nothing. `no`, `1.10`, `0755` and `12:30` are texts.
fn scalar(node: &Node, text: &str, can_be_number: bool) -> Value {
    if node.is_null() {
        return Value::Null;
    }
    let is_number = text == "0" || !text.trim_start_matches('-').starts_with('0');
    match text {
        _ if !can_be_number => text.into(),
        "true" => true.into(),
        "false" => false.into(),
        _ if !is_number => text.into(),
        _ => match (text.parse::<u64>(), text.parse::<i64>()) {
            (Ok(number), _) if !text.starts_with('+') => number.into(),
            (_, Ok(number)) if !text.starts_with('+') => number.into(),
            _ => text.into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::yaml::documents;

    #[test]
    fn scalars_are_numbers_only_where_they_look_and_mean_so() {
        let source = "a: [1, -1, 0, 0755, +1, 1.10, 12:30, no, yes, true, '1', ~, '', 1e3]\n\
                      value: [1, true, '~']\nname: 007\n";
        let (value, _) = Fields::of(&documents(source).unwrap()[0]);
        let texts = json!([
            1, -1, 0, "0755", "+1", "1.10", "12:30", "no", "yes", true, "1", null, "", "1e3"
        ]);
        assert_eq!(value["a"], texts);
        assert_eq!((&value["value"], &value["name"]), (&json!(["1", "true", "~"]), &json!("007")));
    }

    #[test]
    fn path_without_a_place_has_that_of_the_part_around_it() {
        let source = "spec:\n  limits:\n    - limit: 5\n";
        let (_, fields) = Fields::of(&documents(source).unwrap()[0]);
        let place = |path: &str| {
            let Position { line, column } = fields.position(path);
            (line, column)
        };
        assert_eq!(place("spec.limits[0].limit"), (3, 7));
        assert_eq!(place("spec.limits[0].window_ms"), (3, 7));
        assert_eq!(place("spec.limits[1]"), (2, 3));
        assert_eq!(place("metadata.name"), (1, 1));
    }
}
