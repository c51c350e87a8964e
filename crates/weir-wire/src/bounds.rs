//! The bounds of every request field and parameter, added to the OpenAPI documents from the constants that enforce them.
//!
//! A bound that JSON Schema cannot express (bytes of UTF-8, one field against another) is in the field's description.

use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;
use weir_domain::alert::{CHECKS_MIN_MAX, THRESHOLDS_MAX, WINDOW_S_MAX};
use weir_domain::condition::OPERANDS_MAX;
use weir_domain::limit::{
    COST_MAX, LEASE_MS_MAX, LEASES_MAX, LIMITS_PER_RULE_MAX, LOG_LIMIT_MAX, SPAN_MS_MAX, UNITS_MAX,
};
use weir_domain::names::{ATTRIBUTES_MAX, VALUE_BYTES_MAX};
use weir_domain::profile::{DENY_STATUSES, DOMAIN_BYTES_MAX, TRUSTED_HOPS_MAX};
use weir_domain::request::IDEMPOTENCY_KEY_BYTES_MAX;
use weir_domain::reservation::{RESERVED_MAX_MS, RESERVED_MIN_MS};
use weir_domain::rule::{CONDITIONS_MAX, COUNT_BY_MAX, DESCRIPTION_CHARS_MAX};

use crate::api_keys::KEY_NAMESPACES_MAX;
use crate::apply::{
    APPLY_ALERTS_MAX, APPLY_OVERRIDES_MAX, APPLY_PROFILES_MAX, APPLY_RULES_MAX, WEBHOOK_CHARS_MAX,
};
use crate::check::BATCH_MAX;
use crate::deferred::{NOT_AFTER_MS_MAX, NOT_AFTER_MS_MIN};
use crate::document;
use crate::leases::LEASE_CHARS_MAX;
use crate::overrides::{BULK_OVERRIDES_MAX, REASON_CHARS_MAX};
use crate::reservations::RESERVATION_CHARS_MAX;
use crate::simulate::TRACE_BYTES_MAX;
use crate::tester::INSPECT_MAX;

/// Most characters of a text in a filter.
pub const FILTER_CHARS_MAX: usize = 256;
/// Most characters of the name of a time zone.
const ZONE_CHARS_MAX: usize = 64;
const NAMESPACE: &str = "^[a-z0-9][a-z0-9_-]{0,62}$";
const RULE_NAME: &str = "^[a-z0-9][a-z0-9-]{0,62}$";
/// The name of a header.
const HEADER_NAME: &str = "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$";
const RESERVATION: &str = "^resv_[A-Za-z0-9_-]+$";
const LEASE: &str = "^lease_[A-Za-z0-9_-]+$";
const ATTRIBUTE: &str = "^[a-z][a-z0-9_.-]{0,63}$";
/// No control characters.
const ONE_LINE: &str = "^[^\\u0000-\\u001F\\u007F-\\u009F]*$";
/// No control characters but line feeds.
const PROSE: &str = "^[^\\u0000-\\u0009\\u000B-\\u001F\\u007F-\\u009F]*$";
/// No control characters, and no blank at the beginning or end.
const TITLE: &str = "^[^\\s\\u0000-\\u001F\\u007F-\\u009F]([^\\u0000-\\u001F\\u007F-\\u009F]*[^\\s\\u0000-\\u001F\\u007F-\\u009F])?$";

/// The document with bounds, complete (document.rs), and with answers that extend a request body described as one object.
///
/// # Panics
/// If the document cannot be written as JSON, which the tests of both planes exclude.
#[must_use]
pub fn with_bounds(document: &OpenApi) -> Value {
    let mut document = schemas_with_bounds(document);
    document::complete(&mut document);
    document
}

/// The document with bounds, and with all its schemas, whether or not an operation uses them.
///
/// # Panics
/// If the document cannot be written as JSON.
#[must_use]
pub fn schemas_with_bounds(document: &OpenApi) -> Value {
    let mut document = serde_json::to_value(document).expect("a document is JSON");
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        merge_flattened(schemas);
        for (name, schema) in schemas {
            for (of, field, bounds) in fields() {
                if of == name || (of == "*" && is_request(name)) {
                    bound_field(schema, field, &bounds);
                }
            }
            if name == "LimitBody" {
                close_variants(schema);
                bound_stored(schema);
            }
            if name == "AttributeBody" {
                close_variants(schema);
            }
            if name == "OperandBody" {
                bound_operand(schema);
            }
            if name == "CostBody" {
                bound_cost(schema);
            }
        }
    }
    if let Some(paths) = document["paths"].as_object_mut() {
        let operations = paths.values_mut().filter_map(Value::as_object_mut).flatten();
        for (_, operation) in operations {
            let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
            parameters.into_iter().flatten().for_each(bound_parameter);
        }
    }
    document
}

/// The bounds of fields: schema (`*`: every request body), property, keywords. A later row adds to an earlier one.
fn fields() -> Vec<(&'static str, &'static str, Value)> {
    let mut fields = common_fields();
    fields.extend(rule_fields());
    fields.extend(limit_fields());
    fields.extend(profile_fields());
    fields.extend(alert_fields());
    fields.extend(other_fields());
    fields
}

fn common_fields() -> Vec<(&'static str, &'static str, Value)> {
    const EMAIL: &str =
        "^[^@\\s\\u0000-\\u001F\\u007F-\\u009F]+@[^@\\s\\u0000-\\u001F\\u007F-\\u009F]+$";
    vec![
        ("*", "namespace", json!({ "pattern": NAMESPACE })),
        ("*", "name", json!({ "minLength": 1, "maxLength": 100, "pattern": TITLE })),
        ("*", "tenant_name", json!({ "pattern": TITLE })),
        ("*", "email", json!({ "minLength": 3, "maxLength": 254, "pattern": EMAIL })),
        ("*", "rule_id", json!({ "pattern": id("rule") })),
        ("*", "webhook_id", json!({ "pattern": id("webhook") })),
        ("*", "cost", json!({ "minimum": 1, "maximum": COST_MAX })),
        ("*", "attributes", texts(ATTRIBUTES_MAX)),
    ]
}

fn rule_fields() -> Vec<(&'static str, &'static str, Value)> {
    let attribute = json!({ "type": "string", "pattern": ATTRIBUTE });
    let description = json!({ "pattern": PROSE, "maxLength": DESCRIPTION_CHARS_MAX });
    let count_by = json!({ "maxItems": COUNT_BY_MAX, "uniqueItems": true, "items": attribute });
    let conditions = json!({ "maxItems": CONDITIONS_MAX });
    let span = json!({ "minimum": 1, "maximum": SPAN_MS_MAX });
    vec![
        ("SuggestBody", "match", conditions.clone()),
        ("SuggestBody", "count_by", with(json!({ "minItems": 1 }), &count_by)),
        ("SuggestBody", "window_ms", span.clone()),
        ("RuleBody", "name", json!({ "pattern": RULE_NAME, "maxLength": 63 })),
        ("RuleBody", "description", description),
        ("RuleBody", "match", conditions),
        ("NamespaceBody", "spread_by", count_by.clone()),
        ("RuleBody", "count_by", count_by),
        ("RuleBody", "limits", json!({ "maxItems": LIMITS_PER_RULE_MAX })),
        ("RuleBody", "block_ms", span),
        ("ConditionBody", "attribute", json!({ "pattern": ATTRIBUTE })),
        ("ApplyBody", "set", json!({ "pattern": RULE_NAME, "maxLength": 63 })),
        ("ApplyBody", "rules", json!({ "maxItems": APPLY_RULES_MAX })),
        ("ApplyBody", "profiles", json!({ "maxItems": APPLY_PROFILES_MAX })),
        ("ApplyBody", "overrides", json!({ "maxItems": APPLY_OVERRIDES_MAX })),
        ("ApplyBody", "alerts", json!({ "maxItems": APPLY_ALERTS_MAX })),
        ("ApplyBody", "allow_deletes", json!({ "minimum": 0, "maximum": u32::MAX })),
        ("ApplyBody", "if_version", json!({ "minimum": 0, "maximum": i64::MAX })),
        ("ApplyRule", "renamed_from", json!({ "pattern": RULE_NAME, "maxLength": 63 })),
        ("ApplyProfile", "renamed_from", json!({ "pattern": RULE_NAME, "maxLength": 63 })),
        ("RevertBody", "revision", json!({ "minimum": 1, "maximum": i64::MAX })),
    ]
}

fn limit_fields() -> Vec<(&'static str, &'static str, Value)> {
    let units = ["limit", "capacity", "refill_tokens", "drain_units"]
        .map(|name| ("LimitBody", name, json!({ "minimum": 1, "maximum": UNITS_MAX })));
    let spans = ["window_ms", "refill_interval_ms", "drain_interval_ms", "interval_ms"]
        .map(|name| ("LimitBody", name, json!({ "minimum": 1, "maximum": SPAN_MS_MAX })));
    let calendar = [
        ("LimitBody", "time_zone", json!({ "minLength": 1, "maxLength": ZONE_CHARS_MAX })),
        ("LimitBody", "anchor_day", json!({ "minimum": 1, "maximum": 366 })),
    ];
    let lease = ("LimitBody", "lease_ms", json!({ "minimum": 1, "maximum": LEASE_MS_MAX }));
    units.into_iter().chain(spans).chain(calendar).chain([lease]).collect()
}

fn profile_fields() -> Vec<(&'static str, &'static str, Value)> {
    let header = json!({ "pattern": HEADER_NAME });
    let attributes = json!({
        "maxProperties": ATTRIBUTES_MAX,
        "propertyNames": { "type": "string", "pattern": ATTRIBUTE },
        // Elsewhere, the attributes of a body are texts.
        "additionalProperties": { "$ref": "#/components/schemas/AttributeBody" },
    });
    let rename = json!({
        "maxProperties": ATTRIBUTES_MAX,
        "additionalProperties": { "type": "string", "pattern": ATTRIBUTE },
    });
    vec![
        ("ProfileBody", "name", json!({ "pattern": RULE_NAME, "maxLength": 63 })),
        ("ProfileBody", "trusted_hops", json!({ "minimum": 1, "maximum": TRUSTED_HOPS_MAX })),
        ("ProfileBody", "attributes", attributes),
        (
            "ProfileBody",
            "domain",
            json!({ "pattern": ONE_LINE, "minLength": 1, "maxLength": DOMAIN_BYTES_MAX }),
        ),
        ("ProfileBody", "rename", rename),
        (
            "ProfileBody",
            "deny_status",
            json!({ "enum": DENY_STATUSES, "minimum": 403, "maximum": 429 }),
        ),
        ("AttributeBody", "ipv6_prefix", json!({ "minimum": 1, "maximum": 128 })),
        ("AttributeBody", "name", header.clone()),
        ("AttributeBody", "default", json!({ "pattern": ONE_LINE, "maxLength": VALUE_BYTES_MAX })),
        ("HeaderBody", "name", header.clone()),
        ("CostHeaderBody", "name", header),
        ("CostHeaderBody", "default", json!({ "minimum": 1, "maximum": COST_MAX })),
    ]
}

fn alert_fields() -> Vec<(&'static str, &'static str, Value)> {
    let percent = json!({ "minimum": 1, "maximum": 100 });
    let thresholds = json!({
        "minItems": 1,
        "maxItems": THRESHOLDS_MAX,
        "uniqueItems": true,
        "items": with(json!({ "type": "integer" }), &percent),
    });
    let window = json!({ "minimum": 60, "maximum": WINDOW_S_MAX, "multipleOf": 60 });
    let checks_min = json!({ "minimum": 1, "maximum": CHECKS_MIN_MAX });
    let conditions = ["AlertBody", "ApplyAlert", "BacktestBody"].map(|schema| {
        [
            (schema, "share_percent", percent.clone()),
            (schema, "window_s", window.clone()),
            (schema, "checks_min", checks_min.clone()),
        ]
    });
    let others = [
        ("AlertBody", "thresholds_percent", thresholds.clone()),
        ("BacktestBody", "alert_id", json!({ "pattern": id("alert") })),
        ("ApplyAlert", "name", json!({ "minLength": 1, "maxLength": 100, "pattern": TITLE })),
        ("ApplyAlert", "webhook", json!({ "minLength": 1, "maxLength": WEBHOOK_CHARS_MAX })),
        ("ApplyAlert", "namespace", json!({ "pattern": NAMESPACE })),
        ("ApplyAlert", "rule", json!({ "pattern": RULE_NAME, "maxLength": 63 })),
        ("ApplyAlert", "thresholds_percent", thresholds),
    ];
    conditions.into_iter().flatten().chain(others).collect()
}

fn other_fields() -> Vec<(&'static str, &'static str, Value)> {
    const URL: &str = "^https?://[^\\s\\u0000-\\u001F\\u007F-\\u009F]+$";
    let list = |most: usize| json!({ "minItems": 1, "maxItems": most });
    let subjects = json!({ "items": with(json!({ "type": "object" }), &texts(COUNT_BY_MAX)) });
    let key = json!({ "minLength": 1, "maxLength": IDEMPOTENCY_KEY_BYTES_MAX });
    let reservation = json!({ "pattern": RESERVATION, "maxLength": RESERVATION_CHARS_MAX });
    let reason = json!({ "pattern": PROSE, "maxLength": REASON_CHARS_MAX });
    let attributes = json!({ "minProperties": 1, "maxProperties": COUNT_BY_MAX });
    let namespaces = json!({ "items": { "type": "string", "pattern": NAMESPACE } });
    vec![
        ("CreateKey", "namespaces", with(list(KEY_NAMESPACES_MAX), &namespaces)),
        ("InspectSubjectBody", "attributes", attributes),
        ("RaiseSubjectBody", "subject", texts(COUNT_BY_MAX)),
        ("RaiseSubjectBody", "reason", reason.clone()),
        ("BlockSubjectBody", "subject", texts(COUNT_BY_MAX)),
        ("BlockSubjectBody", "reason", reason.clone()),
        ("OverrideBody", "subject", texts(COUNT_BY_MAX)),
        ("OverrideBody", "limits", list(LIMITS_PER_RULE_MAX)),
        ("OverrideBody", "reason", reason.clone()),
        ("ApplyOverride", "namespace", json!({ "pattern": NAMESPACE })),
        ("ApplyOverride", "rule", json!({ "pattern": RULE_NAME, "maxLength": 63 })),
        ("ApplyOverride", "subject", texts(COUNT_BY_MAX)),
        ("ApplyOverride", "limits", list(LIMITS_PER_RULE_MAX)),
        ("ApplyOverride", "reason", reason),
        ("RestoreOverrideBody", "managed_by", json!({ "pattern": RULE_NAME, "maxLength": 63 })),
        ("RestoreOverrideBody", "applied_digest", json!({ "pattern": "^[0-9a-f]{32}$" })),
        ("BulkOverridesBody", "overrides", list(BULK_OVERRIDES_MAX)),
        (
            "BulkOverridesBody",
            "replace_sets",
            json!({ "maxItems": BULK_OVERRIDES_MAX, "items": { "type": "string", "pattern": RULE_NAME } }),
        ),
        ("ResetBody", "subject", texts(COUNT_BY_MAX)),
        ("InspectBody", "subjects", with(list(INSPECT_MAX), &subjects)),
        ("CheckBody", "idempotency_key", key.clone()),
        ("RecordBody", "idempotency_key", key.clone()),
        ("RecordBody", "cost", json!({ "minimum": 0 })),
        ("ReserveBody", "idempotency_key", key.clone()),
        (
            "ReserveBody",
            "ttl_ms",
            json!({ "minimum": RESERVED_MIN_MS, "maximum": RESERVED_MAX_MS }),
        ),
        ("ExhaustBody", "for_ms", json!({ "minimum": 1, "maximum": RESERVED_MAX_MS })),
        ("CommitBody", "cost", json!({ "minimum": 0 })),
        ("CommitBody", "reservation", reservation.clone()),
        ("CancelBody", "reservation", reservation),
        ("LeaseBody", "lease", json!({ "pattern": LEASE, "maxLength": LEASE_CHARS_MAX })),
        ("RefundBody", "idempotency_key", key.clone()),
        ("DeferBody", "idempotency_key", key),
        ("DeferBody", "target", json!({ "pattern": id("webhook") })),
        (
            "DeferBody",
            "not_after_ms",
            json!({ "minimum": NOT_AFTER_MS_MIN, "maximum": NOT_AFTER_MS_MAX }),
        ),
        ("BatchBody", "checks", list(BATCH_MAX)),
        ("TraceBody", "text", json!({ "maxLength": TRACE_BYTES_MAX })),
        ("WebhookBody", "url", json!({ "maxLength": 2000, "pattern": URL })),
    ]
}

/// A map of attributes to values.
fn texts(most: usize) -> Value {
    json!({
        "maxProperties": most,
        "propertyNames": { "type": "string", "pattern": ATTRIBUTE },
        "additionalProperties": {
            "type": "string",
            "pattern": ONE_LINE,
            "maxLength": VALUE_BYTES_MAX,
        },
    })
}

/// Schemas whose properties a client writes. Other schemas can use the same names for stored values.
fn is_request(schema: &str) -> bool {
    schema.ends_with("Body") && schema != "ProblemBody"
        || schema.starts_with("Create")
        || schema.starts_with("Update")
        || schema.starts_with("Delete")
        || ["SignUp", "LogIn", "Invite"].contains(&schema)
}

/// The bounds of a parameter, by its name.
fn bound_parameter(parameter: &mut Value) {
    let name = parameter["name"].as_str().unwrap_or_default().to_owned();
    let place = parameter["in"].as_str().unwrap_or_default().to_owned();
    let bounds = match (place.as_str(), name.as_str()) {
        ("path", "profile_name") => json!({ "pattern": RULE_NAME }),
        ("path", "namespace") => json!({ "pattern": NAMESPACE }),
        ("path", kind) => json!({ "pattern": id(kind) }),
        ("header", "If-Match") => json!({ "pattern": "^\"[0-9]{1,20}\"$" }),
        ("query", "rule_id") => json!({ "pattern": id("rule") }),
        ("query", "tenant") => json!({ "pattern": id("tenant") }),
        ("query", "namespace") => json!({ "pattern": "^([a-z0-9][a-z0-9_-]{0,62})?$" }),
        ("query", "cursor") => json!({ "pattern": "^[A-Za-z0-9_-]{1,512}$" }),
        ("query", "search" | "subject" | "actor" | "action") => {
            json!({ "maxLength": FILTER_CHARS_MAX, "pattern": ONE_LINE })
        }
        ("query", "time_zone") => json!({ "minLength": 1, "maxLength": ZONE_CHARS_MAX }),
        ("query", "step_s") => json!({ "minimum": 10, "maximum": 366 * 86_400, "multipleOf": 10 }),
        // Whole numbers that JSON holds exactly.
        ("query", "after") => json!({ "minimum": 0, "maximum": (1_u64 << 53) - 1 }),
        ("query", "deny_status") => json!({ "enum": [200, 429], "minimum": 200, "maximum": 429 }),
        ("query", "ids") => {
            let rule = id("rule");
            let rule = rule.trim_start_matches('^').trim_end_matches('$');
            json!({ "pattern": format!("^({rule}(,{rule}){{0,99}})?$") })
        }
        _ => return,
    };
    merge(&mut parameter["schema"], &bounds);
}

/// The form of an id of this kind.
fn id(kind: &str) -> String {
    format!("^{kind}_[0-7][0-9A-HJKMNP-TV-Z]{{25}}$")
}

/// Adds bounds to a property of a schema, or of each of its variants.
fn bound_field(schema: &mut Value, field: &str, bounds: &Value) {
    if let Some(property) = schema.get_mut("properties").and_then(|all| all.get_mut(field)) {
        let bounded = property.get("type").is_some() || property.get("pattern").is_some();
        if bounded {
            merge(property, bounds);
        }
    }
    for keyword in ["oneOf", "allOf"] {
        for variant in schema.get_mut(keyword).and_then(Value::as_array_mut).into_iter().flatten() {
            bound_field(variant, field, bounds);
        }
    }
}

/// Unknown parameters of an algorithm are refused.
fn close_variants(schema: &mut Value) {
    let variants = schema.get_mut("oneOf").and_then(Value::as_array_mut);
    for variant in variants.into_iter().flatten() {
        variant["additionalProperties"] = Value::Bool(false);
    }
}

/// The limit of a log and the capacity of a concurrency limit are bounded by the memory of their entries.
fn bound_stored(schema: &mut Value) {
    let variants = schema.get_mut("oneOf").and_then(Value::as_array_mut);
    for variant in variants.into_iter().flatten() {
        let algorithm = variant["properties"]["algorithm"]["enum"].clone();
        if algorithm == json!(["sliding_window_log"]) {
            variant["properties"]["limit"]["maximum"] = json!(LOG_LIMIT_MAX);
        } else if algorithm == json!(["concurrency"]) {
            variant["properties"]["capacity"]["maximum"] = json!(LEASES_MAX);
        }
    }
}

fn bound_operand(schema: &mut Value) {
    let text = json!({ "type": "string", "pattern": ONE_LINE, "maxLength": VALUE_BYTES_MAX });
    let variants = schema.get_mut("oneOf").and_then(Value::as_array_mut);
    for variant in variants.into_iter().flatten() {
        if variant["type"] == "array" {
            merge(variant, &json!({ "minItems": 1, "maxItems": OPERANDS_MAX, "items": text }));
        } else {
            merge(variant, &text);
        }
    }
}

/// The cost is a number, or describes a header.
fn bound_cost(schema: &mut Value) {
    let variants = schema.get_mut("oneOf").and_then(Value::as_array_mut);
    for variant in variants.into_iter().flatten().filter(|variant| variant["type"] == "integer") {
        merge(variant, &json!({ "minimum": 1, "maximum": COST_MAX }));
    }
}

/// An answer that flattens a request body is `allOf` that body, which permits no other property, and the rest: nothing
/// can satisfy both. Describes it as one object instead.
fn merge_flattened(schemas: &mut Map<String, Value>) {
    let closed: Map<String, Value> = schemas
        .iter()
        .filter(|(_, schema)| schema["additionalProperties"] == false)
        .map(|(name, schema)| (format!("#/components/schemas/{name}"), schema.clone()))
        .collect();
    schemas.values_mut().for_each(|schema| merge_below(schema, &closed));
}

/// Does so for a schema and every schema in it.
fn merge_below(schema: &mut Value, closed: &Map<String, Value>) {
    match schema {
        Value::Object(keywords) => {
            keywords.values_mut().for_each(|keyword| merge_below(keyword, closed));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| merge_below(item, closed)),
        _ => {}
    }
    let is_closed =
        |part: &Value| part["$ref"].as_str().is_some_and(|name| closed.contains_key(name));
    let Some(parts) = schema.get("allOf").and_then(Value::as_array) else { return };
    if !parts.iter().any(is_closed) {
        return;
    }
    let (mut required, mut properties) = (Vec::new(), Map::new());
    for part in parts {
        let part = part["$ref"].as_str().and_then(|name| closed.get(name)).unwrap_or(part);
        required.extend(part["required"].as_array().cloned().unwrap_or_default());
        properties.extend(part["properties"].as_object().cloned().unwrap_or_default());
    }
    let description = schema["description"].clone();
    *schema = json!({ "type": "object", "required": required, "properties": properties });
    if description.is_string() {
        schema["description"] = description;
    }
}

/// `base` with the keywords of `more`.
fn with(mut base: Value, more: &Value) -> Value {
    merge(&mut base, more);
    base
}

fn merge(schema: &mut Value, more: &Value) {
    if let (Some(schema), Some(more)) = (schema.as_object_mut(), more.as_object()) {
        schema.extend(more.clone());
    }
}
