//! The description, and health.

use serde_json::Value;

use super::support::Plane;

#[tokio::test]
async fn description_is_served_with_every_reference_resolved() {
    let plane = Plane::start().await;
    let answer = plane.ask("GET", "/openapi.json").send().await.expect(200);
    let made = serde_json::to_value(crate::openapi()).expect("a document serialises");
    assert_eq!(answer.body, made);
    let mut references = Vec::new();
    collect_references(&made, &mut references);
    assert!(references.len() > 100, "{}", references.len());
    for reference in references {
        let pointer = reference.strip_prefix('#').expect("within the document");
        assert!(made.pointer(pointer).is_some(), "{reference}");
    }
}

#[test]
fn every_variant_has_a_title_from_which_generators_name_its_type() {
    let made = serde_json::to_value(crate::openapi()).expect("a document serialises");
    let schemas = made["components"]["schemas"].as_object().expect("schemas");
    let mut titles = Vec::new();
    for (name, schema) in schemas {
        for variant in schema["oneOf"].as_array().into_iter().flatten() {
            let named = variant.get("$ref").or_else(|| variant.get("title"));
            titles.push(named.and_then(Value::as_str).unwrap_or_else(|| panic!("{name}")));
        }
    }
    assert!(titles.contains(&"FixedWindowLimit"), "{titles:?}");
    let number = titles.len();
    titles.sort_unstable();
    titles.dedup();
    assert_eq!(titles.len(), number, "each title is used once");
}

#[tokio::test]
async fn health_and_unknown_paths_have_different_answers() {
    let plane = Plane::start().await;
    for path in ["/healthz", "/readyz"] {
        assert_eq!(plane.ask("GET", path).send().await.expect(200).text("/status"), "ok");
    }
    plane.ask("GET", "/api/v1/nothing").send().await.problem(404, "not_found");
    plane.ask("DELETE", "/api/v1/auth/login").send().await.problem(405, "method_not_allowed");
    plane.database.app.close().await;
    let away = plane.ask("GET", "/readyz").send().await.problem(503, "unavailable");
    assert!(away.headers.contains_key("retry-after"));
    plane.ask("GET", "/healthz").send().await.expect(200);
}

fn collect_references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                found.push(reference.clone());
            }
            fields.values().for_each(|field| collect_references(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, found)),
        _ => {}
    }
}
