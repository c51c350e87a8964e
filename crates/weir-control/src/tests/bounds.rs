//! The document states every bound: every input of a client has one, and the numbers are those that the code enforces.

use serde_json::{Value, json};
use weir_domain::limit::{COST_MAX, LIMITS_PER_RULE_MAX, SPAN_MS_MAX, UNITS_MAX};
use weir_domain::names::{ATTRIBUTES_MAX, VALUE_BYTES_MAX};
use weir_domain::rule::{CONDITIONS_MAX, COUNT_BY_MAX, DESCRIPTION_CHARS_MAX};
use weir_wire::overrides::BULK_OVERRIDES_MAX;

use super::support::Plane;

fn document() -> Value {
    serde_json::to_value(crate::openapi()).expect("a document serialises")
}

/// The places at which a schema, or one that it refers to, permits values without a bound.
fn unbounded(document: &Value, schema: &Value, path: &str, seen: &mut Vec<String>) -> Vec<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        if seen.iter().any(|seen| seen == reference) {
            return Vec::new();
        }
        seen.push(reference.to_owned());
        let target = document.pointer(reference.trim_start_matches('#')).expect("a schema");
        let name = reference.rsplit('/').next().expect("a name");
        return unbounded(document, target, name, seen);
    }
    let mut found = Vec::new();
    let is = |name: &str| match &schema["type"] {
        Value::String(one) => one == name,
        Value::Array(many) => many.iter().any(|value| value == name),
        _ => false,
    };
    let has = |keys: &[&str]| keys.iter().any(|key| schema.get(key).is_some());
    if is("string") && !has(&["enum", "const", "maxLength", "pattern", "format"]) {
        found.push(format!("{path}: text without maxLength or pattern"));
    }
    if (is("integer") || is("number")) && !(has(&["minimum"]) && has(&["maximum"])) {
        found.push(format!("{path}: number without minimum and maximum"));
    }
    if is("array") && !has(&["maxItems"]) {
        found.push(format!("{path}: list without maxItems"));
    }
    if schema["additionalProperties"].is_object() && !has(&["maxProperties"]) {
        found.push(format!("{path}: map without maxProperties"));
    }
    for keyword in ["oneOf", "allOf", "anyOf"] {
        for variant in schema[keyword].as_array().into_iter().flatten() {
            found.extend(unbounded(document, variant, path, seen));
        }
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        found.extend(unbounded(document, property, &format!("{path}.{name}"), seen));
    }
    for keyword in ["items", "additionalProperties"] {
        if schema[keyword].is_object() {
            found.extend(unbounded(document, &schema[keyword], &format!("{path}[]"), seen));
        }
    }
    found
}

#[test]
fn everything_that_a_client_sends_has_a_bound_in_the_document() {
    let document = document();
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().expect("an object") {
        for (method, operation) in item.as_object().expect("an object") {
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let at = format!("{method} {path} {}", parameter["name"]);
                found.extend(unbounded(&document, &parameter["schema"], &at, &mut Vec::new()));
            }
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            found.extend(unbounded(&document, schema, path, &mut Vec::new()));
        }
    }
    found.sort_unstable();
    found.dedup();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn bounds_of_the_document_are_those_of_the_code() {
    let document = document();
    let bound = |schema: &str, pointer: &str| {
        document["components"]["schemas"][schema].pointer(pointer).cloned().unwrap_or(Value::Null)
    };
    let expected = [
        ("RuleBody", "/properties/limits/maxItems", json!(LIMITS_PER_RULE_MAX)),
        ("RuleBody", "/properties/match/maxItems", json!(CONDITIONS_MAX)),
        ("RuleBody", "/properties/count_by/maxItems", json!(COUNT_BY_MAX)),
        ("RuleBody", "/properties/description/maxLength", json!(DESCRIPTION_CHARS_MAX)),
        ("RuleBody", "/properties/block_memory_ms/maximum", json!(SPAN_MS_MAX)),
        ("BlockBody", "/oneOf/0/maximum", json!(SPAN_MS_MAX)),
        ("LimitBody", "/oneOf/0/properties/limit/maximum", json!(UNITS_MAX)),
        ("LimitBody", "/oneOf/0/properties/window_ms/maximum", json!(SPAN_MS_MAX)),
        ("LimitBody", "/oneOf/0/additionalProperties", json!(false)),
        ("CheckBody", "/properties/cost/maximum", json!(COST_MAX)),
        ("CheckBody", "/properties/attributes/maxProperties", json!(ATTRIBUTES_MAX)),
        (
            "CheckBody",
            "/properties/attributes/additionalProperties/maxLength",
            json!(VALUE_BYTES_MAX),
        ),
        ("BulkOverridesBody", "/properties/overrides/maxItems", json!(BULK_OVERRIDES_MAX)),
        ("CreateKey", "/properties/scopes/maxItems", json!(6)),
    ];
    for (schema, pointer, value) in expected {
        assert_eq!(bound(schema, pointer), value, "{schema}{pointer}");
    }
}

/// A closed body inside `allOf` with another schema could not be satisfied.
#[tokio::test]
async fn answers_have_exactly_the_properties_of_their_schema() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let limits = json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 1000 }]);
    let rule = json!({ "name": "login", "count_by": ["user"], "limits": limits });
    let rule = plane.by(&ada, "POST", "rules").json(&rule).send().await.expect(201);
    let body =
        json!({ "rule_id": rule.text("/id"), "subject": { "user": "u-1" }, "action": "deny" });
    let exception = plane.by(&ada, "POST", "overrides").json(&body).send().await.expect(201);
    let document = document();
    for (schema, answer) in [("RuleAnswer", &rule.body), ("OverrideAnswer", &exception.body)] {
        let schema = &document["components"]["schemas"][schema];
        assert_eq!(schema["type"], "object", "{schema:#}");
        for required in schema["required"].as_array().expect("a list") {
            assert!(answer.get(required.as_str().expect("a name")).is_some(), "{required}");
        }
        assert!(!document.to_string().contains("\"parameters\":null"));
        for name in answer.as_object().expect("an object").keys() {
            assert!(schema["properties"].get(name).is_some(), "{name}");
        }
    }
}

#[tokio::test]
async fn refusals_name_the_bound() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let scopes = json!({ "name": "k", "scopes": vec!["read"; 7] });
    let answer = plane.by(&ada, "POST", "keys").json(&scopes).send().await;
    assert_eq!(answer.text("/fields/0/reason"), "must name from 1 to 6 scopes");
    let long = "x".repeat(257);
    for (path, field, reason) in [
        ("rules?search=", "search", "must be at most 256 characters"),
        ("overrides?subject=", "subject", "must be at most 256 characters"),
        ("audit?actor=", "actor", "must be at most 256 characters"),
        (
            "stats/series?time_zone=",
            "time_zone",
            "must be the name of an IANA time zone such as `Europe/Berlin` or `UTC`",
        ),
        (
            "rules?namespace=",
            "namespace",
            "must be 1 to 63 lower-case letters, digits, hyphens and underscores, the first a letter or digit",
        ),
        (
            "stats/summary?namespace=",
            "namespace",
            "must be 1 to 63 lower-case letters, digits, hyphens and underscores, the first a letter or digit",
        ),
    ] {
        let answer = plane.by(&ada, "GET", &format!("{path}{long}")).send().await;
        assert_eq!(answer.text("/fields/0/reason"), reason, "{path}");
        assert_eq!(answer.refused_field(), field, "{path}");
    }
}
