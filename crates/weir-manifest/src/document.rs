//! A document of a manifest: its kind, and the objects in it.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::fields::{Fields, join};
use crate::override_document::{self, OverrideDocument};
use crate::profile_document::{self, ProfileDocument};
use crate::rule_document::{self, RuleDocument};
use crate::yaml::{Misplaced, Node};

/// The version of the format.
pub(crate) const API_VERSION: &str = "weir/v1";
/// The kind of a document that holds a rule.
pub(crate) const RULE: &str = "Rule";
/// The kind of a document that holds a profile.
pub(crate) const GATEWAY: &str = "Gateway";
/// The kind of a document that holds profiles of domains.
pub(crate) const ENVOY_DOMAINS: &str = "EnvoyDomains";

/// The kind of a document that holds overrides of a rule.
pub(crate) const OVERRIDES: &str = "Overrides";

/// The objects of a document.
#[derive(Debug, Clone)]
pub(crate) enum Objects {
    Rule(Box<RuleDocument>),
    Profiles(Vec<ProfileDocument>),
    Overrides(Vec<OverrideDocument>),
}

/// A document whose kind is known, with the places of its fields.
pub(crate) struct Document {
    pub(crate) metadata: Map<String, Value>,
    pub(crate) spec: Value,
    pub(crate) fields: Fields,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    #[serde(rename = "apiVersion")]
    api_version: String,
    kind: String,
    #[serde(default)]
    metadata: Map<String, Value>,
    spec: Value,
}

/// The former name of a renamed object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Renamed {
    pub(crate) from: String,
}

/// Reads the objects of a document, or returns everything that is wrong with them.
pub(crate) fn read(node: &Node) -> Result<Objects, Vec<Misplaced>> {
    let one = |error| vec![error];
    let (value, fields) = Fields::of(node);
    let Head { api_version, kind, metadata, spec } =
        parse(value, &fields, str::to_owned).map_err(one)?;
    if api_version != API_VERSION {
        let text = format!("`apiVersion` must be `{API_VERSION}`");
        return Err(one(Misplaced::new(fields.position("apiVersion"), text)));
    }
    let document = Document { metadata, spec, fields };
    match kind.as_str() {
        RULE => rule_document::read(document).map(|rule| Objects::Rule(Box::new(rule))),
        GATEWAY => profile_document::gateway(document).map(|one| Objects::Profiles(vec![one])),
        ENVOY_DOMAINS => profile_document::domains(document).map(Objects::Profiles),
        OVERRIDES => override_document::read(document).map(Objects::Overrides),
        _ => {
            let text =
                format!("`kind` must be `{RULE}`, `{GATEWAY}`, `{ENVOY_DOMAINS}` or `{OVERRIDES}`");
            Err(one(Misplaced::new(document.fields.position("kind"), text)))
        }
    }
}

/// Deserialises a value. An error gets the place of its path, which `place` converts to one of the document.
pub(crate) fn parse<T: DeserializeOwned>(
    value: Value,
    fields: &Fields,
    place: impl Fn(&str) -> String,
) -> Result<T, Misplaced> {
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
        Misplaced::new(at, format!("{field}{text}"))
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
