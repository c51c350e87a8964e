//! A document of a manifest as JSON Schema, for editors and checkers.

use serde_json::{Map, Value, json};
use utoipa::OpenApi;
use weir_domain::rule::BLOCKS_MAX;
use weir_wire::apply::{ApplyAlert, ApplyAssignment, ApplyOverride};
use weir_wire::bounds::schemas_with_bounds;
use weir_wire::plans::PlanBody;
use weir_wire::profiles::ProfileBody;
use weir_wire::rules::RuleBody;

use crate::document::{
    ALERT, API_VERSION, ASSIGNMENTS, ENVOY_DOMAINS, GATEWAY, OVERRIDES, PLAN, RULE,
};
use crate::durations::LIMIT_FIELDS;

#[derive(OpenApi)]
#[openapi(components(schemas(
    RuleBody,
    ProfileBody,
    PlanBody,
    ApplyAssignment,
    ApplyOverride,
    ApplyAlert
)))]
struct Document;

/// The fields of a profile that only one of a domain has.
const OF_DOMAINS: [&str; 3] = ["domain", "descriptors", "rename"];

/// The schema of one document of a manifest. Its `kind` decides what `metadata` and `spec` are.
#[must_use]
pub fn schema() -> Value {
    let mut document = schemas_with_bounds(&Document::openapi());
    let mut definitions = document["components"]["schemas"].take();
    refer_to_definitions(&mut definitions);
    let Some(definitions) = definitions.as_object_mut() else { return Value::Null };
    let kinds = [
        rule(definitions),
        gateway(definitions),
        domains(definitions),
        plan(definitions),
        assignments(definitions),
        overrides(definitions),
        alert(definitions),
    ];
    let names: Vec<_> = kinds.iter().map(|(name, _)| *name).collect();
    let of_kind = |(name, properties): &(&str, Value)| {
        json!({
            "if": { "properties": { "kind": { "const": name } }, "required": ["kind"] },
            "then": properties,
        })
    };
    let conditions: Vec<_> = kinds.iter().map(of_kind).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An object of Weir",
        "type": "object",
        "required": ["apiVersion", "kind", "spec"],
        "properties": {
            "apiVersion": { "const": API_VERSION, "description": "The version of the format." },
            "kind": { "enum": names, "description": "The kind of the object." },
            "metadata": { "description": "The identity of the object." },
            "spec": { "description": "The content of the object." },
        },
        "additionalProperties": false,
        "allOf": conditions,
        "$defs": definitions,
    })
}

/// A rule: its name is in `metadata`.
fn rule(definitions: &mut Map<String, Value>) -> (&'static str, Value) {
    let mut spec = definitions.remove("RuleBody").unwrap_or_default();
    let (mut namespace, mut name) = (Value::Null, Value::Null);
    if let Some(properties) = spec["properties"].as_object_mut() {
        namespace = properties.remove("namespace").unwrap_or_default();
        name = properties.remove("name").unwrap_or_default();
        with_unit(properties, "block_ms");
        if let Some(block) = properties.get_mut("block") {
            let list =
                json!({ "type": "array", "minItems": 2, "maxItems": BLOCKS_MAX, "items": block });
            *block = json!({ "description": block["description"], "oneOf": [block, list] });
        }
        with_unit(properties, "block_memory_ms");
    }
    spec["required"] = json!([]);
    definitions.get_mut("LimitBody").into_iter().for_each(limits_with_units);
    definitions.insert(RULE.to_owned(), spec);
    let renamed =
        renamed(&name, "The former name of the rule. It keeps its id, counters and revisions.");
    let metadata = json!({
        "type": "object",
        "description": "The identity of the rule.",
        "required": ["name"],
        "properties": { "namespace": namespace, "name": name, "renamed": renamed },
        "additionalProperties": false,
    });
    let spec = json!({ "$ref": format!("#/$defs/{RULE}") });
    (
        RULE,
        json!({ "properties": { "metadata": metadata, "spec": spec }, "required": ["metadata"] }),
    )
}

/// A profile by which proxies ask over HTTP: its name is in `metadata`.
fn gateway(definitions: &mut Map<String, Value>) -> (&'static str, Value) {
    let mut spec = definitions.get("ProfileBody").cloned().unwrap_or_default();
    let mut name = Value::Null;
    if let Some(properties) = spec["properties"].as_object_mut() {
        name = properties.remove("name").unwrap_or_default();
        for field in OF_DOMAINS {
            properties.remove(field);
        }
    }
    spec["required"] = json!(["reads"]);
    definitions.insert(GATEWAY.to_owned(), spec);
    let renamed = renamed(&name, "The former name of the profile. It keeps its id and revisions.");
    let metadata = json!({
        "type": "object",
        "description": "The identity of the profile.",
        "required": ["name"],
        "properties": { "name": name, "renamed": renamed },
        "additionalProperties": false,
    });
    let spec = json!({ "$ref": format!("#/$defs/{GATEWAY}") });
    let properties = json!({ "metadata": metadata, "spec": spec });
    (GATEWAY, json!({ "properties": properties, "required": ["metadata"] }))
}

/// The profiles of domains of the rate limit service: a list, without `metadata`.
fn domains(definitions: &mut Map<String, Value>) -> (&'static str, Value) {
    let mut entry = definitions.remove("ProfileBody").unwrap_or_default();
    if let Some(properties) = entry["properties"].as_object_mut() {
        properties.retain(|field, _| {
            ["name", "namespace"].contains(&field.as_str()) || OF_DOMAINS.contains(&field.as_str())
        });
        let name = properties.get("name").cloned().unwrap_or_default();
        let description = "The former name of the profile. It keeps its id and revisions.";
        properties.insert("renamed".to_owned(), renamed(&name, description));
    }
    entry["required"] = json!(["name", "domain"]);
    definitions.insert("EnvoyDomain".to_owned(), entry);
    let spec = json!({
        "type": "array",
        "description": "The domains.",
        "items": { "$ref": "#/$defs/EnvoyDomain" },
    });
    (ENVOY_DOMAINS, json!({ "properties": { "spec": spec } }))
}

/// A plan: its name is in `metadata`.
fn plan(definitions: &mut Map<String, Value>) -> (&'static str, Value) {
    let mut spec = definitions.remove("PlanBody").unwrap_or_default();
    let mut name = Value::Null;
    if let Some(properties) = spec["properties"].as_object_mut() {
        name = properties.remove("name").unwrap_or_default();
    }
    spec["required"] = json!([]);
    definitions.insert(PLAN.to_owned(), spec);
    let renamed =
        renamed(&name, "The former name of the plan. It keeps its id, customers and revisions.");
    let metadata = json!({
        "type": "object",
        "description": "The identity of the plan.",
        "required": ["name"],
        "properties": { "name": name, "renamed": renamed },
        "additionalProperties": false,
    });
    let spec = json!({ "$ref": format!("#/$defs/{PLAN}") });
    let properties = json!({ "metadata": metadata, "spec": spec });
    (PLAN, json!({ "properties": properties, "required": ["metadata"] }))
}

/// Assignments of customers to plans: a list, without `metadata`.
fn assignments(definitions: &mut Map<String, Value>) -> (&'static str, Value) {
    let entry = definitions.remove("ApplyAssignment").unwrap_or_default();
    definitions.insert("Assignment".to_owned(), entry);
    let spec = json!({
        "type": "array",
        "description": "The assignments.",
        "items": { "$ref": "#/$defs/Assignment" },
    });
    (ASSIGNMENTS, json!({ "properties": { "spec": spec } }))
}

/// The overrides of one rule, which `metadata` names: a list.
fn overrides(definitions: &mut Map<String, Value>) -> (&'static str, Value) {
    let mut entry = definitions.remove("ApplyOverride").unwrap_or_default();
    let (mut namespace, mut rule) = (Value::Null, Value::Null);
    if let Some(properties) = entry["properties"].as_object_mut() {
        namespace = properties.remove("namespace").unwrap_or_default();
        rule = properties.remove("rule").unwrap_or_default();
    }
    entry["required"] = json!(["subject"]);
    definitions.insert("Override".to_owned(), entry);
    let metadata = json!({
        "type": "object",
        "description": "The rule.",
        "required": ["rule"],
        "properties": { "namespace": namespace, "rule": rule },
        "additionalProperties": false,
    });
    let spec = json!({
        "type": "array",
        "description": "The overrides.",
        "items": { "$ref": "#/$defs/Override" },
    });
    let properties = json!({ "metadata": metadata, "spec": spec });
    (OVERRIDES, json!({ "properties": properties, "required": ["metadata"] }))
}

/// An alert: its name is in `metadata`.
fn alert(definitions: &mut Map<String, Value>) -> (&'static str, Value) {
    let mut spec = definitions.remove("ApplyAlert").unwrap_or_default();
    let mut name = Value::Null;
    if let Some(properties) = spec["properties"].as_object_mut() {
        name = properties.remove("name").unwrap_or_default();
        let reference = properties["webhooks"]["items"].clone();
        properties.insert("webhook".to_owned(), reference);
        let description = properties["window_s"]["description"].clone();
        properties.insert("window".to_owned(), time(&description, "10m"));
    }
    spec["required"] = json!(["kind"]);
    spec["anyOf"] = json!([{ "required": ["webhooks"] }, { "required": ["webhook"] }]);
    definitions.insert(ALERT.to_owned(), spec);
    let metadata = json!({
        "type": "object",
        "description": "The identity of the alert in its set.",
        "required": ["name"],
        "properties": { "name": name },
        "additionalProperties": false,
    });
    let spec = json!({ "$ref": format!("#/$defs/{ALERT}") });
    let properties = json!({ "metadata": metadata, "spec": spec });
    (ALERT, json!({ "properties": properties, "required": ["metadata"] }))
}

fn renamed(name: &Value, description: &str) -> Value {
    json!({
        "type": "object",
        "description": description,
        "required": ["from"],
        "properties": { "from": name },
        "additionalProperties": false,
    })
}

/// Permits a time with a unit in place of one in milliseconds. Returns the name with a unit.
fn with_unit(properties: &mut Map<String, Value>, field: &str) -> Option<String> {
    let name = field.strip_suffix("_ms")?.to_owned();
    let property = properties.get(field)?;
    // A field that can be absent and refers to a definition has its description beside the reference.
    let described = property.get("description").unwrap_or(&property["oneOf"][0]["description"]);
    let description = described.clone();
    properties.insert(name.clone(), time(&description, "1m"));
    Some(name)
}

fn time(description: &Value, example: &str) -> Value {
    json!({
        "type": "string",
        "pattern": "^[0-9]+(ms|s|m|h|d)$",
        "description": description,
        "examples": [example],
    })
}

/// Whether a field of a limit can have a unit.
fn is_time(field: &str) -> bool {
    field.strip_suffix("_ms").is_some_and(|name| LIMIT_FIELDS.contains(&name))
}

/// In each algorithm, a required time can have either name.
fn limits_with_units(limits: &mut Value) {
    for variant in limits["oneOf"].as_array_mut().into_iter().flatten() {
        let Some(properties) = variant["properties"].as_object_mut() else { continue };
        let times = LIMIT_FIELDS.into_iter().filter_map(|name| {
            let field = format!("{name}_ms");
            let name = with_unit(properties, &field)?;
            Some(json!({ "oneOf": [{ "required": [field] }, { "required": [name] }] }))
        });
        let times: Vec<_> = times.collect();
        if times.is_empty() {
            continue;
        }
        if let Some(required) = variant["required"].as_array_mut() {
            required.retain(|field| !is_time(field.as_str().unwrap_or_default()));
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
                assert_ne!(keywords.get("description"), Some(&Value::Null), "{schema:#}");
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
        for kind in ["Rule", "Gateway", "Plan", "Alert"] {
            assert!(schema["$defs"][kind]["properties"].get("name").is_none(), "{kind}");
        }
        assert_eq!(
            schema["properties"]["kind"]["enum"],
            json!(["Rule", "Gateway", "EnvoyDomains", "Plan", "Assignments", "Overrides", "Alert"])
        );
        let domain = schema["$defs"]["EnvoyDomain"]["properties"].as_object().expect("fields");
        let mut fields: Vec<_> = domain.keys().map(String::as_str).collect();
        fields.sort_unstable();
        assert_eq!(fields, ["descriptors", "domain", "name", "namespace", "rename", "renamed"]);
    }
}
