//! A document of a manifest as a rule.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use weir_domain::rule::Rule;
use weir_wire::rules::RuleBody;

use crate::durations;
use crate::fields::{Fields, join};
use crate::yaml::{Misplaced, Node};

/// The version of the format.
pub(crate) const API_VERSION: &str = "weir/v1";
/// The kind of a document that holds a rule.
pub(crate) const KIND: &str = "Rule";

/// A rule of a manifest.
#[derive(Debug, Clone)]
pub(crate) struct RuleDocument {
    pub(crate) body: RuleBody,
    pub(crate) rule: Rule,
    pub(crate) renamed_from: Option<String>,
    pub(crate) fields: Fields,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "apiVersion")]
    api_version: String,
    kind: String,
    metadata: Metadata,
    spec: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Metadata {
    #[serde(default)]
    namespace: Option<String>,
    name: String,
    #[serde(default)]
    renamed: Option<Renamed>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Renamed {
    from: String,
}

/// The place of a field of a rule in its document.
pub(crate) fn path_in_document(field: &str) -> String {
    match field {
        "namespace" | "name" => join("metadata", field),
        "renamed_from" => "metadata.renamed.from".to_owned(),
        _ => join("spec", field),
    }
}

/// Reads a rule, or returns everything that is wrong with it.
pub(crate) fn read(node: &Node) -> Result<RuleDocument, Vec<Misplaced>> {
    let one = |error| vec![error];
    let (value, mut fields) = Fields::of(node);
    let document: Document = parse(value, &fields, str::to_owned).map_err(one)?;
    let fixed =
        [("apiVersion", &document.api_version, API_VERSION), ("kind", &document.kind, KIND)];
    for (field, found, wanted) in fixed {
        if found != wanted {
            let text = format!("`{field}` must be `{wanted}`");
            return Err(one(Misplaced::new(fields.position(field), text)));
        }
    }
    let Metadata { namespace, name, renamed } = document.metadata;
    let mut spec = document.spec;
    for field in ["namespace", "name"] {
        if spec.contains_key(field) {
            let at = fields.position(&join("spec", field));
            return Err(one(Misplaced::new(at, format!("`{field}` belongs in `metadata`"))));
        }
    }
    durations::resolve(&mut spec, "spec", &mut fields).map_err(one)?;
    spec.insert("name".to_owned(), name.into());
    if let Some(namespace) = namespace {
        spec.insert("namespace".to_owned(), namespace.into());
    }
    let body: RuleBody = parse(Value::Object(spec), &fields, path_in_document).map_err(one)?;
    match body.clone().parse() {
        Ok(rule) => {
            let renamed_from = renamed.map(|renamed| renamed.from);
            Ok(RuleDocument { body, rule, renamed_from, fields })
        }
        Err(wrong) => {
            let misplaced = wrong.into_iter().map(|wrong| {
                let at = fields.position(&path_in_document(&wrong.field));
                Misplaced::new(at, format!("`{}` {}", wrong.field, wrong.reason))
            });
            Err(misplaced.collect())
        }
    }
}

/// Deserialises a value. An error gets the place of its path, which `place` converts to one of the document.
fn parse<T: DeserializeOwned>(
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
