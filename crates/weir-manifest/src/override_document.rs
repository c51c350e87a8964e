//! Documents `Overrides`: other limits, or an action, for subjects of one rule.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use weir_wire::apply::ApplyOverride;

use crate::document::{Document, OVERRIDES, list, map, parse, parse_all};
use crate::durations;
use crate::fields::{Fields, join};
use crate::yaml::Misplaced;

/// An override of a manifest.
#[derive(Debug, Clone)]
pub(crate) struct OverrideDocument {
    pub(crate) body: ApplyOverride,
    /// The fields of the document, which can have many overrides.
    pub(crate) fields: Arc<Fields>,
    /// The position of the entry in `spec`.
    entry: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Metadata {
    #[serde(default)]
    namespace: Option<String>,
    rule: String,
}

impl OverrideDocument {
    /// The place of a field of the override in its document.
    pub(crate) fn path(&self, field: &str) -> String {
        path(self.entry, field)
    }
}

fn path(entry: usize, field: &str) -> String {
    match field {
        "namespace" | "rule" => join("metadata", field),
        _ => join(&format!("spec[{entry}]"), field),
    }
}

/// Reads the overrides of a document, or returns everything that is wrong with them.
pub(crate) fn read(document: Document) -> Result<Vec<OverrideDocument>, Vec<Misplaced>> {
    let one = |error| vec![error];
    let Document { metadata, spec, mut fields } = document;
    let metadata: Metadata =
        parse(Value::Object(metadata), &fields, |path| join("metadata", path)).map_err(one)?;
    let entries = list(spec, OVERRIDES, &fields)?;
    let (mut bodies, mut wrong) = (Vec::new(), Vec::new());
    for (at, entry) in entries.into_iter().enumerate() {
        match body(entry, at, &metadata, &mut fields) {
            Ok(body) => bodies.push(body),
            Err(errors) => wrong.extend(errors),
        }
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let fields = Arc::new(fields);
    let documents = bodies.into_iter().enumerate();
    Ok(documents
        .map(|(entry, body)| OverrideDocument { body, fields: Arc::clone(&fields), entry })
        .collect())
}

fn body(
    entry: Value,
    at: usize,
    metadata: &Metadata,
    fields: &mut Fields,
) -> Result<ApplyOverride, Vec<Misplaced>> {
    let one = |error| vec![error];
    let place = format!("spec[{at}]");
    let mut spec = map(entry, &place, fields).map_err(one)?;
    if let Some(field) = ["namespace", "rule"].into_iter().find(|field| spec.contains_key(*field)) {
        let at = fields.position(&join(&place, field));
        return Err(one(Misplaced::new(at, format!("`{field}` belongs in `metadata`"))));
    }
    durations::resolve(&mut spec, &place, fields).map_err(one)?;
    let mut identity = Map::from_iter([("rule".to_owned(), metadata.rule.clone().into())]);
    if let Some(namespace) = &metadata.namespace {
        identity.insert("namespace".to_owned(), namespace.clone().into());
    }
    spec.extend(identity);
    parse_all(Value::Object(spec), fields, |field| path(at, field))
}
