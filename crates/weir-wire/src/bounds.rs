//! The bounds of every request field and parameter, added to the OpenAPI documents from the constants that enforce them.
//!
//! A bound that JSON Schema cannot express (bytes of UTF-8, one field against another) is in the field's description.

mod fields;
mod patterns;

use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;
use weir_domain::condition::OPERANDS_MAX;
use weir_domain::limit::{COST_MAX, LEASES_MAX, LOG_LIMIT_MAX, SPAN_MS_MAX};
use weir_domain::names::VALUE_BYTES_MAX;
use weir_domain::rule::BLOCKS_MAX;

use self::fields::{ZONE_CHARS_MAX, fields, merge};
use self::patterns::{ATTRIBUTE, NAMESPACE, ONE_LINE, RULE_NAME, id};
use crate::document;

/// Most characters of a text in a filter.
pub const FILTER_CHARS_MAX: usize = 256;

/// The document with bounds, complete (document.rs), and with answers that extend a request body described as one object.
///
/// # Panics
/// If the document cannot be written as JSON, which the tests of both planes exclude.
#[must_use]
pub fn with_bounds(document: &OpenApi) -> Value {
    let mut document = schemas_with_bounds(document);
    document::complete(&mut document);
    document
}

/// The document with bounds, and with all its schemas, whether or not an operation uses them.
///
/// # Panics
/// If the document cannot be written as JSON.
#[must_use]
pub fn schemas_with_bounds(document: &OpenApi) -> Value {
    let mut document = serde_json::to_value(document).expect("a document is JSON");
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        merge_flattened(schemas);
        for (name, schema) in schemas {
            for (of, field, bounds) in fields() {
                if of == name || (of == "*" && is_request(name)) {
                    bound_field(schema, field, &bounds);
                }
            }
            if name == "LimitBody" {
                close_variants(schema, "algorithm", "Limit");
                bound_stored(schema);
            }
            if name == "AttributeBody" {
                close_variants(schema, "from", "Attribute");
            }
            if name == "OperandBody" {
                let text =
                    json!({ "type": "string", "pattern": ONE_LINE, "maxLength": VALUE_BYTES_MAX });
                bound_one_or_list(schema, "Operand", &text, OPERANDS_MAX);
            }
            if name == "CountedBody" {
                let attribute = json!({ "pattern": ATTRIBUTE });
                let variants = schema.get_mut("oneOf").and_then(Value::as_array_mut);
                let name = variants.and_then(|variants| variants.first_mut());
                if let Some(name) = name {
                    merge(name, &attribute);
                }
            }
            if name == "CostBody" {
                bound_cost(schema);
            }
            if name == "BlockBody" {
                let length = json!({ "type": "integer", "minimum": 1, "maximum": SPAN_MS_MAX });
                bound_one_or_list(schema, "Block", &length, BLOCKS_MAX);
            }
        }
    }
    if let Some(paths) = document["paths"].as_object_mut() {
        let operations = paths.values_mut().filter_map(Value::as_object_mut).flatten();
        for (_, operation) in operations {
            let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
            parameters.into_iter().flatten().for_each(bound_parameter);
        }
    }
    document
}

/// Schemas whose properties a client writes. Other schemas can use the same names for stored values.
fn is_request(schema: &str) -> bool {
    schema.ends_with("Body") && schema != "ProblemBody"
        || schema.starts_with("Create")
        || schema.starts_with("Update")
        || schema.starts_with("Delete")
        || ["SignUp", "LogIn", "Invite"].contains(&schema)
}

/// The bounds of a parameter, by its name.
fn bound_parameter(parameter: &mut Value) {
    let name = parameter["name"].as_str().unwrap_or_default().to_owned();
    let place = parameter["in"].as_str().unwrap_or_default().to_owned();
    let bounds = match (place.as_str(), name.as_str()) {
        ("path", "profile_name") => json!({ "pattern": RULE_NAME }),
        ("path", "namespace") => json!({ "pattern": NAMESPACE }),
        ("path", kind) => json!({ "pattern": id(kind) }),
        ("header", "If-Match") => json!({ "pattern": "^\"[0-9]{1,20}\"$" }),
        ("query", "rule_id") => json!({ "pattern": id("rule") }),
        ("query", "tenant") => json!({ "pattern": id("tenant") }),
        ("query", "namespace" | "region") => {
            json!({ "pattern": "^([a-z0-9][a-z0-9_-]{0,62})?$" })
        }
        ("query", "cursor") => json!({ "pattern": "^[A-Za-z0-9_-]{1,512}$" }),
        ("query", "search" | "subject" | "actor" | "action") => {
            json!({ "maxLength": FILTER_CHARS_MAX, "pattern": ONE_LINE })
        }
        ("query", "customer") => json!({ "maxLength": VALUE_BYTES_MAX, "pattern": ONE_LINE }),
        ("query", "plan") => json!({ "pattern": id("plan") }),
        ("query", "time_zone") => json!({ "minLength": 1, "maxLength": ZONE_CHARS_MAX }),
        ("query", "step_s") => json!({ "minimum": 10, "maximum": 366 * 86_400, "multipleOf": 10 }),
        // Whole numbers that JSON holds exactly.
        ("query", "after") => json!({ "minimum": 0, "maximum": (1_u64 << 53) - 1 }),
        ("query", "deny_status") => json!({ "enum": [200, 429], "minimum": 200, "maximum": 429 }),
        ("query", "ids") => {
            let rule = id("rule");
            let rule = rule.trim_start_matches('^').trim_end_matches('$');
            json!({ "pattern": format!("^({rule}(,{rule}){{0,99}})?$") })
        }
        _ => return,
    };
    merge(&mut parameter["schema"], &bounds);
}

/// Adds bounds to a property of a schema, or of each of its variants.
fn bound_field(schema: &mut Value, field: &str, bounds: &Value) {
    if let Some(property) = schema.get_mut("properties").and_then(|all| all.get_mut(field)) {
        let bounded = property.get("type").is_some() || property.get("pattern").is_some();
        if bounded {
            merge(property, bounds);
        }
    }
    for keyword in ["oneOf", "allOf"] {
        for variant in schema.get_mut(keyword).and_then(Value::as_array_mut).into_iter().flatten() {
            bound_field(variant, field, bounds);
        }
    }
}

/// Unknown fields of a variant are refused. Its title is the value of the field `tag` in `PascalCase` and `noun`, because
/// generators of clients name a variant without a title by its number.
fn close_variants(schema: &mut Value, tag: &str, noun: &str) {
    let variants = schema.get_mut("oneOf").and_then(Value::as_array_mut);
    for variant in variants.into_iter().flatten() {
        variant["additionalProperties"] = Value::Bool(false);
        let value = variant["properties"][tag]["enum"][0].as_str().unwrap_or_default();
        variant["title"] = Value::String(pascal_case(value) + noun);
    }
}

fn pascal_case(snake_case: &str) -> String {
    let words = snake_case.split('_').filter_map(|word| word.split_at_checked(1));
    words.map(|(first, rest)| first.to_uppercase() + rest).collect()
}

/// The limit of a log and the capacity of a concurrency limit are bounded by the memory of their entries.
fn bound_stored(schema: &mut Value) {
    let variants = schema.get_mut("oneOf").and_then(Value::as_array_mut);
    for variant in variants.into_iter().flatten() {
        let algorithm = variant["properties"]["algorithm"]["enum"].clone();
        if algorithm == json!(["sliding_window_log"]) {
            variant["properties"]["limit"]["maximum"] = json!(LOG_LIMIT_MAX);
        } else if algorithm == json!(["concurrency"]) {
            variant["properties"]["capacity"]["maximum"] = json!(LEASES_MAX);
        }
    }
}

/// Bounds a value that is one item or a list of them.
fn bound_one_or_list(schema: &mut Value, title: &str, item: &Value, most: usize) {
    let variants = schema.get_mut("oneOf").and_then(Value::as_array_mut);
    for variant in variants.into_iter().flatten() {
        if variant["type"] == "array" {
            merge(variant, &json!({ "minItems": 1, "maxItems": most, "items": item }));
            variant["title"] = json!(format!("{title}List"));
        } else {
            merge(variant, item);
            variant["title"] = json!(title);
        }
    }
}

/// The cost is a number, or describes a header.
fn bound_cost(schema: &mut Value) {
    let variants = schema.get_mut("oneOf").and_then(Value::as_array_mut);
    for variant in variants.into_iter().flatten().filter(|variant| variant["type"] == "integer") {
        merge(variant, &json!({ "title": "FixedCost", "minimum": 1, "maximum": COST_MAX }));
    }
}

/// An answer that flattens a request body is `allOf` that body, which permits no other property, and the rest: nothing
/// can satisfy both. Describes it as one object instead.
fn merge_flattened(schemas: &mut Map<String, Value>) {
    let closed: Map<String, Value> = schemas
        .iter()
        .filter(|(_, schema)| schema["additionalProperties"] == false)
        .map(|(name, schema)| (format!("#/components/schemas/{name}"), schema.clone()))
        .collect();
    schemas.values_mut().for_each(|schema| merge_below(schema, &closed));
}

/// Does so for a schema and every schema in it.
fn merge_below(schema: &mut Value, closed: &Map<String, Value>) {
    match schema {
        Value::Object(keywords) => {
            keywords.values_mut().for_each(|keyword| merge_below(keyword, closed));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| merge_below(item, closed)),
        _ => {}
    }
    let is_closed =
        |part: &Value| part["$ref"].as_str().is_some_and(|name| closed.contains_key(name));
    let Some(parts) = schema.get("allOf").and_then(Value::as_array) else { return };
    if !parts.iter().any(is_closed) {
        return;
    }
    let mut required = Vec::new();
    let mut properties = Map::new();
    for part in parts {
        let part = part["$ref"].as_str().and_then(|name| closed.get(name)).unwrap_or(part);
        required.extend(part["required"].as_array().cloned().unwrap_or_default());
        properties.extend(part["properties"].as_object().cloned().unwrap_or_default());
    }
    let description = schema["description"].clone();
    *schema = json!({ "type": "object", "required": required, "properties": properties });
    if description.is_string() {
        schema["description"] = description;
    }
}
