//! Example bodies: those of `docs/theme/examples.json`, by the name of the schema, and for others the required fields.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};

use super::document::{Document, Parameter};
use super::fields::{list, not_null};

/// The part of an id that follows the name of its kind.
const ID: &str = "01M7Y73RFB8PD7BJ7QNA0B7ZZ9";

pub struct Examples(Map<String, Value>);

impl Examples {
    pub fn read(theme: &Path) -> Result<Self> {
        let text = fs::read_to_string(theme.join("examples.json")).context("read examples.json")?;
        Ok(Self(serde_json::from_str(&text).context("parse examples.json")?))
    }

    /// An example of a body.
    pub fn of(&self, document: &Document, schema: &Value) -> Value {
        let (name, resolved) = document.resolve(not_null(schema));
        if let Some(example) = name.and_then(|name| self.0.get(name)) {
            return example.clone();
        }
        if let Some(example) = resolved.get("example") {
            return example.clone();
        }
        if let Some(variant) = list(resolved, "oneOf").next() {
            return self.of(document, variant);
        }
        if let Some(value) = list(resolved, "enum").next() {
            return value.clone();
        }
        let kind =
            resolved["type"].as_str().or_else(|| list(resolved, "type").find_map(Value::as_str));
        match kind {
            Some("object") => self.object(document, resolved),
            Some("array") => json!([self.of(document, &resolved["items"])]),
            Some("integer" | "number") => resolved.get("minimum").cloned().unwrap_or(json!(1)),
            Some("boolean") => json!(true),
            _ => json!(text(resolved)),
        }
    }

    fn object(&self, document: &Document, schema: &Value) -> Value {
        let mut object = Map::new();
        for (name, value) in schema["properties"].as_object().into_iter().flatten() {
            let required = list(schema, "required").any(|one| one == name.as_str());
            if !required && value.get("example").is_none() {
                continue;
            }
            let example = match name.as_str() {
                "token" => json!("the token of the message"),
                "name" if value.get("example").is_none() => json!("example"),
                "subject" => json!({ "user": "ada" }),
                "subjects" => json!([{ "user": "ada" }]),
                _ => self.of(document, value),
            };
            object.insert(name.clone(), example);
        }
        Value::Object(object)
    }
}

/// An example of a parameter, as it stands in the address or header.
pub fn parameter(parameter: &Parameter<'_>) -> String {
    match parameter.name {
        "profile_name" => "nginx".to_owned(),
        "q" => "ada".to_owned(),
        _ => text(parameter.schema),
    }
}

/// A text that fits the pattern of the schema.
fn text(schema: &Value) -> String {
    let pattern = schema["pattern"].as_str().unwrap_or_default();
    if let Some((kind, _)) = pattern.trim_start_matches('^').split_once("_[0-7]") {
        return format!("{kind}_{ID}");
    }
    match (schema["format"].as_str(), pattern) {
        (Some("date-time"), _) => "2026-12-01T00:00:00Z".to_owned(),
        (Some("password"), _) => "correct horse staple".to_owned(),
        (_, "^\"[0-9]{1,20}\"$") => "\"1\"".to_owned(),
        (_, "^[a-z0-9][a-z0-9_-]{0,62}$") => "api".to_owned(),
        _ => "example".to_owned(),
    }
}
