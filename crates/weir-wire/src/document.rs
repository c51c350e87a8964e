//! The parts of an OpenAPI document that its tools expect and the derive macros cannot write.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// Writes "no credentials are needed" as an empty list, and drops schemas that nothing refers to.
pub(crate) fn complete(document: &mut Value) {
    let operations = document["paths"].as_object_mut().into_iter().flat_map(|paths| {
        paths.values_mut().filter_map(Value::as_object_mut).flat_map(|path| path.values_mut())
    });
    for operation in operations {
        // The macro's `security(())` means "credentials can be left out".
        if operation.get("security") == Some(&json!([{}])) {
            operation["security"] = json!([]);
        }
    }
    while drop_unused_schemas(document) {}
}

/// Returns whether there were any: those that only they referred to are then unused, too.
fn drop_unused_schemas(document: &mut Value) -> bool {
    let mut used = BTreeSet::new();
    collect_references(document, &mut used);
    let Some(schemas) = document["components"]["schemas"].as_object_mut() else { return false };
    let before = schemas.len();
    schemas.retain(|name, _| used.contains(&format!("#/components/schemas/{name}")));
    schemas.len() < before
}

fn collect_references(value: &Value, used: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                used.insert(reference.clone());
            }
            fields.values().for_each(|field| collect_references(field, used));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, used)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_operations_need_no_credentials_and_unused_schemas_are_gone() {
        let reference = |name| json!({ "$ref": format!("#/components/schemas/{name}") });
        let mut document = json!({
            "paths": {
                "/a": { "get": { "security": [{}], "schema": reference("Used") } },
                "/b": { "get": { "security": [{ "key": [] }] }, "post": {} },
            },
            "components": { "schemas": {
                "Used": { "items": [reference("Inner")] },
                "Inner": {},
                "Unused": reference("OnlyByUnused"),
                "OnlyByUnused": {},
            } },
        });
        complete(&mut document);
        assert_eq!(document["paths"]["/a"]["get"]["security"], json!([]));
        assert_eq!(document["paths"]["/b"]["get"]["security"], json!([{ "key": [] }]));
        assert_eq!(document["paths"]["/b"]["post"], json!({}));
        let schemas = document["components"]["schemas"].as_object().expect("schemas");
        assert_eq!(schemas.keys().collect::<Vec<_>>(), ["Used", "Inner"]);
    }
}
