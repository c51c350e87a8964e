//! A manifest as JSON Schema, for editors and checkers.

use serde_json::{Map, Value, json};
use utoipa::OpenApi;
use weir_wire::bounds::schemas_with_bounds;
use weir_wire::rules::RuleBody;

use crate::document::{API_VERSION, KIND};

#[derive(OpenApi)]
#[openapi(components(schemas(RuleBody)))]
struct Document;

/// Fields that can be written with a unit instead, such as `window: 1m`.
const TIMES: [&str; 5] =
    ["window_ms", "interval_ms", "refill_interval_ms", "drain_interval_ms", "lease_ms"];

/// The schema of one document of a manifest.
#[must_use]
pub fn schema() -> Value {
    let mut document = schemas_with_bounds(&Document::openapi());
    let mut definitions = document["components"]["schemas"].take();
    refer_to_definitions(&mut definitions);
    let Some(definitions) = definitions.as_object_mut() else { return Value::Null };
    let mut spec = definitions.remove("RuleBody").unwrap_or_default();
    let properties = spec["properties"].as_object_mut();
    let (mut namespace, mut name) = (Value::Null, Value::Null);
    if let Some(properties) = properties {
        namespace = properties.remove("namespace").unwrap_or_default();
        name = properties.remove("name").unwrap_or_default();
        with_unit(properties, "block_ms");
    }
    spec["required"] = json!([]);
    definitions.get_mut("LimitBody").into_iter().for_each(limits_with_units);
    definitions.insert("Rule".to_owned(), spec);
    let renamed = json!({
        "type": "object",
        "description": "The former name of the rule. It keeps its id, counters and revisions.",
        "required": ["from"],
        "properties": { "from": name },
        "additionalProperties": false,
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A rule of Weir",
        "type": "object",
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "properties": {
            "apiVersion": { "const": API_VERSION, "description": "The version of the format." },
            "kind": { "const": KIND, "description": "The kind of the object." },
            "metadata": {
                "type": "object",
                "description": "The identity of the rule.",
                "required": ["name"],
                "properties": { "namespace": namespace, "name": name, "renamed": renamed },
                "additionalProperties": false,
            },
            "spec": { "$ref": "#/$defs/Rule" },
        },
        "additionalProperties": false,
        "$defs": definitions,
    })
}

/// Permits a time with a unit in place of one in milliseconds. Returns the name with a unit.
fn with_unit(properties: &mut Map<String, Value>, field: &str) -> Option<String> {
    let name = field.strip_suffix("_ms")?.to_owned();
    let description = properties.get(field)?.get("description").cloned().unwrap_or_default();
    let time = json!({
        "type": "string",
        "pattern": "^[0-9]+(ms|s|m|h|d)$",
        "description": description,
        "examples": ["1m"],
    });
    properties.insert(name.clone(), time);
    Some(name)
}

/// In each algorithm, a required time can have either name.
fn limits_with_units(limits: &mut Value) {
    for variant in limits["oneOf"].as_array_mut().into_iter().flatten() {
        let Some(properties) = variant["properties"].as_object_mut() else { continue };
        let times = TIMES.into_iter().filter_map(|field| {
            let name = with_unit(properties, field)?;
            Some(json!({ "oneOf": [{ "required": [field] }, { "required": [name] }] }))
        });
        let times: Vec<_> = times.collect();
        if times.is_empty() {
            continue;
        }
        if let Some(required) = variant["required"].as_array_mut() {
            required.retain(|field| field.as_str().is_none_or(|field| !TIMES.contains(&field)));
        }
        variant["allOf"] = times.into();
    }
}

/// Rewrites references for a schema of its own.
fn refer_to_definitions(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            for (keyword, value) in keywords {
                let name =
                    value.as_str().and_then(|text| text.strip_prefix("#/components/schemas/"));
                match name.map(str::to_owned) {
                    Some(name) if keyword == "$ref" => *value = format!("#/$defs/{name}").into(),
                    _ => refer_to_definitions(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(refer_to_definitions),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All references of a schema.
    fn references(schema: &Value, found: &mut Vec<String>) {
        match schema {
            Value::Object(keywords) => {
                found.extend(keywords.get("$ref").and_then(Value::as_str).map(str::to_owned));
                keywords.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_has_a_definition_and_every_algorithm_its_units() {
        let schema = schema();
        let mut found = Vec::new();
        references(&schema, &mut found);
        assert!(found.len() > 5, "{found:?}");
        for reference in found {
            let pointer = reference.trim_start_matches('#');
            assert!(schema.pointer(pointer).is_some(), "{reference}");
        }
        let limits = schema["$defs"]["LimitBody"]["oneOf"].as_array().expect("algorithms");
        assert_eq!(limits.len(), 8);
        let window = &limits[0]["properties"]["window"];
        assert_eq!(window["pattern"], "^[0-9]+(ms|s|m|h|d)$", "{:#}", limits[0]);
        assert!(schema["$defs"]["Rule"]["properties"].get("name").is_none());
    }
}
