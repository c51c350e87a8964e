//! A document with a rule.

use serde::Deserialize;
use serde_json::Value;
use weir_domain::rule::Rule;
use weir_wire::rules::RuleBody;

use crate::document::{Document, Renamed, map, parse, parse_all};
use crate::durations;
use crate::fields::{Fields, join};
use crate::yaml::Misplaced;

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
struct Metadata {
    #[serde(default)]
    namespace: Option<String>,
    name: String,
    #[serde(default)]
    renamed: Option<Renamed>,
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
pub(crate) fn read(document: Document) -> Result<RuleDocument, Vec<Misplaced>> {
    let one = |error| vec![error];
    let Document { metadata, spec, mut fields } = document;
    let metadata = Value::Object(metadata);
    let Metadata { namespace, name, renamed } =
        parse(metadata, &fields, |path| join("metadata", path)).map_err(one)?;
    let mut spec = map(spec, "spec", &fields).map_err(one)?;
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
    let body: RuleBody = parse_all(Value::Object(spec), &fields, path_in_document)?;
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
