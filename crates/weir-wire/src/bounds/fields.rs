//! The bounds of the fields of requests.

use serde_json::{Value, json};
use weir_domain::alert::{
    CHECKS_MIN_MAX, MUTE_S_MAX, THRESHOLDS_MAX, WEBHOOKS_OF_ALERT_MAX, WINDOW_S_MAX,
};
use weir_domain::charged::CHARGE_BYTES_MAX;
use weir_domain::limit::{COST_MAX, LEASE_MS_MAX, LIMITS_PER_RULE_MAX, SPAN_MS_MAX, UNITS_MAX};
use weir_domain::names::{ATTRIBUTES_MAX, VALUE_BYTES_MAX};
use weir_domain::profile::{
    DENY_STATUSES, DOMAIN_BYTES_MAX, HEADER_NAME_BYTES_MAX, PathFold, TEMPLATES_MAX,
    TRUSTED_HOPS_MAX,
};
use weir_domain::regions::{GATE_ADDRESS_BYTES_MAX, GATES_OF_REGION_MAX, REGIONS_MAX};
use weir_domain::request::IDEMPOTENCY_KEY_BYTES_MAX;
use weir_domain::reservation::{RESERVED_MAX_MS, RESERVED_MIN_MS};
use weir_domain::rule::{
    CLASSES_MAX, CONDITIONS_MAX, COUNT_BY_MAX, DESCRIPTION_CHARS_MAX, VARIANTS_MAX, WEEKLY_MAX,
};
use weir_domain::webhook::ADDRESSES_MAX;

use super::patterns::{
    ATTRIBUTE, CHARGE, HEADER_NAME, LEASE, NAMESPACE, ONE_LINE, PROSE, RESERVATION, RULE_NAME,
    TITLE, id,
};
use crate::api_keys::KEY_NAMESPACES_MAX;
use crate::apply::{
    APPLY_ALERTS_MAX, APPLY_ASSIGNMENTS_MAX, APPLY_OVERRIDES_MAX, APPLY_PLANS_MAX,
    APPLY_PROFILES_MAX, APPLY_RULES_MAX, WEBHOOK_CHARS_MAX,
};
use crate::check::BATCH_MAX;
use crate::customers::{
    HIDDEN_RULES_MAX, VIEW_LOGO_BYTES_MAX, VIEW_ORIGINS_MAX, VIEW_TITLE_CHARS_MAX,
};
use crate::deferred::{NOT_AFTER_MS_MAX, NOT_AFTER_MS_MIN};
use crate::leases::LEASE_CHARS_MAX;
use crate::overrides::{BULK_OVERRIDES_MAX, REASON_CHARS_MAX};
use crate::plans::{BULK_ASSIGNMENTS_MAX, RULES_PER_PLAN_MAX};
use crate::reservations::RESERVATION_CHARS_MAX;
use crate::simulate::TRACE_BYTES_MAX;
use crate::tester::INSPECT_MAX;
use crate::views::{VIEW_BYTES_MAX, VIEW_NAME_CHARS_MAX, VIEW_PARAMETERS_MAX, VIEWS_MAX};

/// Most characters of the name of a time zone.
pub(super) const ZONE_CHARS_MAX: usize = 64;

/// The bounds of fields: schema (`*`: every request body), property, keywords. A later row adds to an earlier one.
pub(super) fn fields() -> Vec<(&'static str, &'static str, Value)> {
    let mut fields = common_fields();
    fields.extend(rule_fields());
    fields.extend(control_fields());
    fields.extend(limit_fields());
    fields.extend(view_fields());
    fields.extend(profile_fields());
    fields.extend(plan_fields());
    fields.extend(alert_fields());
    fields.extend(other_fields());
    fields
}

/// The form of an e-mail address.
const EMAIL: &str = "[^@\\s\\u0000-\\u001F\\u007F-\\u009F]+@[^@\\s\\u0000-\\u001F\\u007F-\\u009F]+";

fn common_fields() -> Vec<(&'static str, &'static str, Value)> {
    let email = format!("^{EMAIL}$");
    vec![
        ("*", "namespace", json!({ "pattern": NAMESPACE })),
        ("*", "name", json!({ "minLength": 1, "maxLength": 100, "pattern": TITLE })),
        ("*", "tenant_name", json!({ "pattern": TITLE })),
        ("*", "email", json!({ "minLength": 3, "maxLength": 254, "pattern": email })),
        ("*", "rule_id", json!({ "pattern": id("rule") })),
        ("*", "cost", json!({ "minimum": 1, "maximum": COST_MAX })),
        ("*", "attributes", texts(ATTRIBUTES_MAX)),
    ]
}

fn rule_fields() -> Vec<(&'static str, &'static str, Value)> {
    let attribute = json!({ "type": "string", "pattern": ATTRIBUTE });
    let description = json!({ "pattern": PROSE, "maxLength": DESCRIPTION_CHARS_MAX });
    let count_by = json!({ "maxItems": COUNT_BY_MAX, "uniqueItems": true });
    let conditions = json!({ "maxItems": CONDITIONS_MAX });
    let span = json!({ "minimum": 1, "maximum": SPAN_MS_MAX });
    vec![
        ("SuggestBody", "match", conditions.clone()),
        ("SuggestBody", "count_by", with(json!({ "minItems": 1 }), &count_by)),
        ("SuggestBody", "window_ms", span.clone()),
        ("RuleBody", "name", json!({ "pattern": RULE_NAME, "maxLength": 63 })),
        ("RuleBody", "description", description),
        ("RuleBody", "match", conditions),
        ("NamespaceBody", "spread_by", with(json!({ "items": attribute }), &count_by)),
        ("RuleBody", "count_by", count_by),
        ("RuleBody", "limits", json!({ "maxItems": LIMITS_PER_RULE_MAX })),
        ("RuleBody", "block_memory_ms", span),
        ("ConditionBody", "attribute", json!({ "pattern": ATTRIBUTE })),
        ("CountedInForm", "attribute", json!({ "pattern": ATTRIBUTE })),
        ("CountedInForm", "ipv6_prefix", json!({ "minimum": 1, "maximum": 128 })),
        ("ApplyBody", "set", json!({ "pattern": RULE_NAME, "maxLength": 63 })),
        ("ApplyBody", "rules", json!({ "maxItems": APPLY_RULES_MAX })),
        ("ApplyBody", "profiles", json!({ "maxItems": APPLY_PROFILES_MAX })),
        ("ApplyBody", "plans", json!({ "maxItems": APPLY_PLANS_MAX })),
        ("ApplyBody", "assignments", json!({ "maxItems": APPLY_ASSIGNMENTS_MAX })),
        ("ApplyBody", "overrides", json!({ "maxItems": APPLY_OVERRIDES_MAX })),
        ("ApplyBody", "alerts", json!({ "maxItems": APPLY_ALERTS_MAX })),
        ("ApplyBody", "allow_deletes", json!({ "minimum": 0, "maximum": u32::MAX })),
        ("ApplyBody", "if_version", json!({ "minimum": 0, "maximum": i64::MAX })),
        ("ApplyRule", "renamed_from", json!({ "pattern": RULE_NAME, "maxLength": 63 })),
        ("ApplyProfile", "renamed_from", json!({ "pattern": RULE_NAME, "maxLength": 63 })),
        ("ApplyPlan", "renamed_from", json!({ "pattern": RULE_NAME, "maxLength": 63 })),
        ("RevertBody", "revision", json!({ "minimum": 1, "maximum": i64::MAX })),
    ]
}

fn control_fields() -> Vec<(&'static str, &'static str, Value)> {
    let keep = json!({
        "minProperties": 1,
        "maxProperties": CLASSES_MAX,
        "additionalProperties": { "type": "number", "minimum": 0, "maximum": 1 },
        "propertyNames": { "type": "string", "pattern": ONE_LINE, "maxLength": VALUE_BYTES_MAX },
    });
    let limits = json!({ "minItems": 1, "maxItems": LIMITS_PER_RULE_MAX });
    // Each day named, with its hours, has fewer characters.
    let entry = json!({ "type": "string", "maxLength": 64 });
    vec![
        ("RuleBody", "enforce_percent", json!({ "minimum": 1, "maximum": 100 })),
        ("RuleBody", "variants", json!({ "maxItems": VARIANTS_MAX })),
        ("PriorityBody", "attribute", json!({ "pattern": ATTRIBUTE })),
        ("PriorityBody", "keep", keep),
        ("VariantBody", "name", json!({ "pattern": RULE_NAME, "maxLength": 63 })),
        ("VariantBody", "percent", json!({ "minimum": 1, "maximum": 99 })),
        ("VariantBody", "limits", limits),
        ("ScheduleBody", "zone", json!({ "minLength": 1, "maxLength": ZONE_CHARS_MAX })),
        ("ScheduleBody", "weekly", json!({ "items": entry, "maxItems": WEEKLY_MAX })),
    ]
}

fn view_fields() -> Vec<(&'static str, &'static str, Value)> {
    let text = json!({ "type": "string", "maxLength": VIEW_BYTES_MAX, "pattern": "^[^\\u0000]*$" });
    let query = json!({
        "maxProperties": VIEW_PARAMETERS_MAX, "additionalProperties": text, "propertyNames": text,
    });
    let name = json!({ "minLength": 1, "maxLength": VIEW_NAME_CHARS_MAX, "pattern": TITLE });
    vec![
        ("ViewsBody", "views", json!({ "maxItems": VIEWS_MAX })),
        ("SavedView", "list", json!({ "pattern": "^[a-z0-9-]{1,64}$" })),
        ("SavedView", "name", name),
        ("SavedView", "query", query),
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

fn plan_fields() -> Vec<(&'static str, &'static str, Value)> {
    let value = json!({ "maxLength": VALUE_BYTES_MAX, "pattern": ONE_LINE });
    let description = json!({ "maxLength": DESCRIPTION_CHARS_MAX, "pattern": PROSE });
    let limits = json!({ "minItems": 1, "maxItems": LIMITS_PER_RULE_MAX });
    let note = json!({ "maxLength": REASON_CHARS_MAX, "pattern": PROSE });
    let assignments = json!({ "minItems": 1, "maxItems": BULK_ASSIGNMENTS_MAX });
    let view = "CustomerViewBody";
    let logo = "^data:image/(png|jpeg|webp);base64,[A-Za-z0-9+/=]+$";
    let origin = json!({ "type": "string", "pattern": "^https?://[-a-z0-9.:\\[\\]]{1,260}$" });
    let origins = json!({ "maxItems": VIEW_ORIGINS_MAX, "items": origin });
    vec![
        ("PlanBody", "name", json!({ "pattern": RULE_NAME, "maxLength": 63 })),
        ("PlanBody", "description", description),
        ("PlanBody", "rules", json!({ "maxItems": RULES_PER_PLAN_MAX })),
        ("PlanRule", "namespace", json!({ "pattern": NAMESPACE })),
        ("PlanRule", "rule", json!({ "pattern": RULE_NAME, "maxLength": 63 })),
        ("PlanRule", "limits", limits),
        ("AssignmentBody", "customer", value.clone()),
        ("AssignmentBody", "plan", json!({ "pattern": id("plan") })),
        // Empty: no address.
        ("AssignmentBody", "email", json!({ "minLength": 0, "pattern": format!("^({EMAIL})?$") })),
        ("AssignmentBody", "note", note.clone()),
        ("ApplyAssignment", "customer", value.clone()),
        ("AlertBody", "customer", value.clone()),
        ("ApplyAlert", "customer", value.clone()),
        ("ApplyAssignment", "plan", json!({ "pattern": RULE_NAME, "maxLength": 63 })),
        ("ApplyAssignment", "note", note),
        ("BulkAssignmentsBody", "assignments", assignments),
        ("PlanNearLimitBody", "rule_id", json!({ "pattern": id("rule") })),
        ("SimulateBody", "assignments", json!({ "maxItems": BULK_ASSIGNMENTS_MAX })),
        ("SimulatedPlan", "id", json!({ "pattern": id("plan") })),
        ("SimulatedPlan", "rules", json!({ "maxItems": RULES_PER_PLAN_MAX })),
        ("SimulatedAssignment", "customer", value),
        ("SimulatedAssignment", "plan", json!({ "pattern": id("plan") })),
        ("UpdateTenant", "customer_attribute", json!({ "pattern": ATTRIBUTE })),
        (view, "title", json!({ "maxLength": VIEW_TITLE_CHARS_MAX, "pattern": PROSE })),
        (view, "color", json!({ "pattern": "^#[0-9A-Fa-f]{6}$" })),
        (view, "logo", json!({ "maxLength": VIEW_LOGO_BYTES_MAX, "pattern": logo })),
        (view, "origins", origins),
        (view, "hidden_rules", json!({ "maxItems": HIDDEN_RULES_MAX })),
        ("HiddenRule", "namespace", json!({ "pattern": NAMESPACE })),
        ("HiddenRule", "rule", json!({ "pattern": RULE_NAME, "maxLength": 63 })),
    ]
}

fn profile_fields() -> Vec<(&'static str, &'static str, Value)> {
    let header = json!({ "pattern": HEADER_NAME });
    let template = json!({ "pattern": "^/", "maxLength": VALUE_BYTES_MAX });
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
        ("AttributeBody", "fold", json!({ "maxItems": PathFold::ALL.len() })),
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
        // Of a header, a parameter, a cookie or a segment.
        (
            "AttributeBody",
            "name",
            json!({ "pattern": ONE_LINE, "minLength": 1, "maxLength": HEADER_NAME_BYTES_MAX }),
        ),
        ("AttributeBody", "path", template),
        (
            "AttributeBody",
            "templates",
            json!({ "maxItems": TEMPLATES_MAX, "items": { "type": "string", "pattern": "^/", "maxLength": VALUE_BYTES_MAX } }),
        ),
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
    let webhooks = json!({ "minItems": 1, "maxItems": WEBHOOKS_OF_ALERT_MAX, "uniqueItems": true });
    let webhook = json!({ "type": "string", "pattern": id("webhook") });
    let reference = json!({ "type": "string", "minLength": 1, "maxLength": WEBHOOK_CHARS_MAX });
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
        ("ApplyAlert", "webhooks", with(webhooks.clone(), &json!({ "items": reference }))),
        ("AlertBody", "webhook_ids", with(webhooks, &json!({ "items": webhook }))),
        ("ApplyAlert", "namespace", json!({ "pattern": NAMESPACE })),
        ("ApplyAlert", "rule", json!({ "pattern": RULE_NAME, "maxLength": 63 })),
        ("ApplyAlert", "thresholds_percent", thresholds),
    ];
    conditions.into_iter().flatten().chain(others).collect()
}

fn other_fields() -> Vec<(&'static str, &'static str, Value)> {
    const ROUTING_KEY: &str = "^[A-Za-z0-9]{32}$";
    const URL: &str = "^https?://[^\\s\\u0000-\\u001F\\u007F-\\u009F]+$";
    let list = |most: usize| json!({ "minItems": 1, "maxItems": most });
    let subjects = json!({ "items": with(json!({ "type": "object" }), &texts(COUNT_BY_MAX)) });
    let key = json!({ "minLength": 1, "maxLength": IDEMPOTENCY_KEY_BYTES_MAX });
    let reservation = json!({ "pattern": RESERVATION, "maxLength": RESERVATION_CHARS_MAX });
    let reason = json!({ "pattern": PROSE, "maxLength": REASON_CHARS_MAX });
    let attributes = json!({ "minProperties": 1, "maxProperties": COUNT_BY_MAX });
    let namespaces = json!({ "items": { "type": "string", "pattern": NAMESPACE } });
    let gate = json!({ "type": "string", "pattern": URL, "maxLength": GATE_ADDRESS_BYTES_MAX });
    let gates = json!({ "items": gate });
    vec![
        ("CreateKey", "namespaces", with(list(KEY_NAMESPACES_MAX), &namespaces)),
        ("InspectSubjectBody", "attributes", attributes),
        ("RaiseSubjectBody", "subject", texts(COUNT_BY_MAX)),
        ("RaiseSubjectBody", "reason", reason.clone()),
        ("AllowOrBlockBody", "subject", texts(COUNT_BY_MAX)),
        ("AllowOrBlockBody", "reason", reason.clone()),
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
        ("RefundBody", "charge", json!({ "pattern": CHARGE, "maxLength": CHARGE_BYTES_MAX })),
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
        ("WebhookBody", "routing_key", json!({ "pattern": ROUTING_KEY })),
        (
            "WebhookBody",
            "addresses",
            json!({ "maxItems": ADDRESSES_MAX, "items": { "type": "string", "minLength": 3, "maxLength": 254 } }),
        ),
        ("MuteBody", "for_s", json!({ "maximum": MUTE_S_MAX })),
        ("RegionsBody", "home", json!({ "pattern": RULE_NAME })),
        ("RegionsBody", "regions", json!({ "maxItems": REGIONS_MAX })),
        ("RegionBody", "name", json!({ "pattern": RULE_NAME, "maxLength": 63 })),
        ("RegionBody", "gates", with(list(GATES_OF_REGION_MAX), &gates)),
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

/// `base` with the keywords of `more`.
fn with(mut base: Value, more: &Value) -> Value {
    merge(&mut base, more);
    base
}

/// Adds keywords to a schema.
pub(super) fn merge(schema: &mut Value, more: &Value) {
    if let (Some(schema), Some(more)) = (schema.as_object_mut(), more.as_object()) {
        schema.extend(more.clone());
    }
}
