//! Documents `Alert`: a condition, and the webhooks that receive its announcements.

use serde::Deserialize;
use serde_json::Value;
use weir_wire::apply::ApplyAlert;

use crate::document::{Document, map, parse, parse_all};
use crate::durations;
use crate::fields::{Fields, join};
use crate::yaml::Misplaced;

/// An alert of a manifest.
#[derive(Debug, Clone)]
pub(crate) struct AlertDocument {
    pub(crate) body: ApplyAlert,
    pub(crate) fields: Fields,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Metadata {
    name: String,
}

/// The place of a field of an alert in its document.
pub(crate) fn path_in_document(field: &str) -> String {
    match field {
        "name" => join("metadata", field),
        _ => join("spec", field),
    }
}

/// Reads an alert, or returns everything that is wrong with it.
pub(crate) fn read(document: Document) -> Result<AlertDocument, Vec<Misplaced>> {
    let one = |error| vec![error];
    let Document { metadata, spec, mut fields } = document;
    let Metadata { name } =
        parse(Value::Object(metadata), &fields, |path| join("metadata", path)).map_err(one)?;
    let mut spec = map(spec, "spec", &fields).map_err(one)?;
    if spec.contains_key("name") {
        let at = fields.position("spec.name");
        return Err(one(Misplaced::new(at, "`name` belongs in `metadata`")));
    }
    durations::resolve_seconds(&mut spec, "spec", &mut fields).map_err(one)?;
    if let Some(webhook) = spec.shift_remove("webhook") {
        let at = fields.position("spec.webhook");
        if spec.contains_key("webhooks") {
            return Err(one(Misplaced::new(at, "`webhook` and `webhooks` are the same field")));
        }
        fields.place("spec.webhooks".to_owned(), at);
        spec.insert("webhooks".to_owned(), webhook);
    }
    spec.insert("name".to_owned(), name.into());
    let body: ApplyAlert = parse_all(Value::Object(spec), &fields, path_in_document)?;
    match body.condition(None) {
        Ok(_) => Ok(AlertDocument { body, fields }),
        Err(wrong) => {
            let misplaced = wrong.into_iter().map(|wrong| {
                let at = fields.position(&path_in_document(&wrong.field));
                Misplaced::new(at, format!("`{}` {}", wrong.field, wrong.reason))
            });
            Err(misplaced.collect())
        }
    }
}
