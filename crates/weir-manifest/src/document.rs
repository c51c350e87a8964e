//! The parts of documents of all kinds: the head, and the places of errors.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use weir_wire::wrong_type;

use crate::correction;
use crate::fields::{Fields, join};
use crate::yaml::Misplaced;

/// The version of the format.
pub(crate) const API_VERSION: &str = "weir/v1";
/// The kind of a document that holds a rule.
pub(crate) const RULE: &str = "Rule";
/// The kind of a document that holds a profile.
pub(crate) const GATEWAY: &str = "Gateway";
/// The kind of a document that holds profiles of domains.
pub(crate) const ENVOY_DOMAINS: &str = "EnvoyDomains";
/// The kind of a document that holds a plan.
pub(crate) const PLAN: &str = "Plan";
/// The kind of a document that holds assignments of customers to plans.
pub(crate) const ASSIGNMENTS: &str = "Assignments";
/// The kind of a document that holds overrides of a rule.
pub(crate) const OVERRIDES: &str = "Overrides";
/// The kind of a document that holds an alert.
pub(crate) const ALERT: &str = "Alert";

/// A document whose kind is known, with the places of its fields.
pub(crate) struct Document {
    pub(crate) metadata: Map<String, Value>,
    pub(crate) spec: Value,
    pub(crate) fields: Fields,
}

/// The fields of every document.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Head {
    #[serde(rename = "apiVersion")]
    pub(crate) _api_version: String,
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) metadata: Map<String, Value>,
    pub(crate) spec: Value,
}

/// The former name of a renamed object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Renamed {
    pub(crate) from: String,
}

/// The most errors of one document.
const ERRORS_MAX: usize = 20;

/// Deserialises a value. An error gets the place of its path, which `place` converts to one of the document.
pub(crate) fn parse<T: DeserializeOwned>(
    value: Value,
    fields: &Fields,
    place: impl Fn(&str) -> String,
) -> Result<T, Misplaced> {
    read(value, fields, &place).map_err(|wrong| wrong.misplaced)
}

/// The same with all errors. After each one, the value that caused it is corrected, so that the next one is found.
pub(crate) fn parse_all<T: DeserializeOwned>(
    mut value: Value,
    fields: &Fields,
    place: impl Fn(&str) -> String,
) -> Result<T, Vec<Misplaced>> {
    let (mut errors, mut misspelt_in) = (Vec::new(), Vec::new());
    loop {
        match read(value.clone(), fields, &place) {
            Ok(read) if errors.is_empty() => return Ok(read),
            Ok(_) => return Err(errors),
            Err(ReadError { path, text, misplaced }) => {
                // The missing field is probably there, with another name.
                if text.contains("missing") && misspelt_in.contains(&path) {
                    return Err(errors);
                }
                if text.starts_with("unknown field `") {
                    let around = path.rsplit_once('.').map_or("", |(around, _)| around);
                    misspelt_in.push(around.to_owned());
                }
                errors.push(misplaced);
                if errors.len() == ERRORS_MAX || !correction::correct(&mut value, &path, &text) {
                    return Err(errors);
                }
            }
        }
    }
}

/// An error of the deserialiser.
struct ReadError {
    path: String,
    text: String,
    misplaced: Misplaced,
}

fn read<T: DeserializeOwned>(
    value: Value,
    fields: &Fields,
    place: impl Fn(&str) -> String,
) -> Result<T, ReadError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let text = error.inner().to_string();
        let path = error.path().to_string();
        let path = if path == "." { String::new() } else { path };
        let unknown = text.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
        let inside = |name: &str| path.ends_with(name) && path.len() > name.len() || path == name;
        let path = match unknown {
            Some(name) if !inside(name) => join(&path, name),
            _ => path,
        };
        let field = if path.is_empty() { String::new() } else { format!("`{path}`: ") };
        let at = if path.is_empty() && unknown.is_none() {
            fields.position(place("x").trim_end_matches(".x"))
        } else {
            fields.position(&place(&path))
        };
        let said = wrong_type::described(&text).unwrap_or_else(|| text.clone());
        ReadError { path, text, misplaced: Misplaced::new(at, format!("{field}{said}")) }
    })
}

/// The map at a place of the document.
pub(crate) fn map(
    value: Value,
    path: &str,
    fields: &Fields,
) -> Result<Map<String, Value>, Misplaced> {
    match value {
        Value::Object(map) => Ok(map),
        _ => Err(Misplaced::new(fields.position(path), format!("`{path}` must be a map"))),
    }
}

/// The entries of a document that is a list, and has no metadata.
pub(crate) fn list_without_metadata(
    metadata: &Map<String, Value>,
    spec: Value,
    kind: &str,
    fields: &Fields,
) -> Result<Vec<Value>, Vec<Misplaced>> {
    if let Some(name) = metadata.keys().next() {
        let at = fields.position(&join("metadata", name));
        let text = format!("`{name}`: a document `{kind}` has no metadata");
        return Err(vec![Misplaced::new(at, text)]);
    }
    list(spec, kind, fields)
}

/// The entries of a document that is a list.
pub(crate) fn list(spec: Value, kind: &str, fields: &Fields) -> Result<Vec<Value>, Vec<Misplaced>> {
    let Value::Array(entries) = spec else {
        let text = format!("`spec` of `{kind}` must be a list");
        return Err(vec![Misplaced::new(fields.position("spec"), text)]);
    };
    Ok(entries)
}
