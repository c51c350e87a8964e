//! Documents `Plan`: limits that replace those of rules for the customers that are on the plan.

use serde::Deserialize;
use serde_json::Value;
use weir_wire::plans::PlanBody;

use crate::document::{Document, Renamed, map, parse, parse_all};
use crate::durations;
use crate::fields::{Fields, join};
use crate::yaml::Misplaced;

/// A plan of a manifest.
#[derive(Debug, Clone)]
pub(crate) struct PlanDocument {
    pub(crate) body: PlanBody,
    pub(crate) renamed_from: Option<String>,
    pub(crate) fields: Fields,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Metadata {
    name: String,
    #[serde(default)]
    renamed: Option<Renamed>,
}

/// The place of a field of a plan in its document.
pub(crate) fn path_in_document(field: &str) -> String {
    match field {
        "name" => join("metadata", field),
        "renamed_from" => "metadata.renamed.from".to_owned(),
        _ => join("spec", field),
    }
}

/// Reads a plan, or returns everything that is wrong with it.
pub(crate) fn read(document: Document) -> Result<PlanDocument, Vec<Misplaced>> {
    let one = |error| vec![error];
    let Document { metadata, spec, mut fields } = document;
    let Metadata { name, renamed } =
        parse(Value::Object(metadata), &fields, |path| join("metadata", path)).map_err(one)?;
    let mut spec = map(spec, "spec", &fields).map_err(one)?;
    if spec.contains_key("name") {
        let at = fields.position("spec.name");
        return Err(one(Misplaced::new(at, "`name` belongs in `metadata`")));
    }
    let rules = spec.get_mut("rules").and_then(Value::as_array_mut);
    for (at, rule) in rules.into_iter().flatten().enumerate() {
        let Some(rule) = rule.as_object_mut() else { continue };
        durations::resolve(rule, &format!("spec.rules[{at}]"), &mut fields).map_err(one)?;
    }
    spec.insert("name".to_owned(), name.into());
    let body: PlanBody = parse_all(Value::Object(spec), &fields, path_in_document)?;
    let wrong = body.problems();
    if !wrong.is_empty() {
        let misplaced = wrong.into_iter().map(|wrong| {
            let at = fields.position(&path_in_document(&wrong.field));
            Misplaced::new(at, format!("`{}` {}", wrong.field, wrong.reason))
        });
        return Err(misplaced.collect());
    }
    let renamed_from = renamed.map(|renamed| renamed.from);
    Ok(PlanDocument { body, renamed_from, fields })
}
