//! Objects as manifests. Defaults are left out, so a manifest says what its author decided.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use weir_domain::alert::{CHECKS_MIN, THRESHOLDS_PERCENT, WINDOW_S};
use weir_domain::request::DEFAULT_NAMESPACE;
use weir_wire::apply::{ApplyAlert, ApplyAssignment, ApplyOverride};
use weir_wire::plans::{PlanBody, PlanRule};
use weir_wire::profiles::ProfileBody;
use weir_wire::rules::RuleBody;

use crate::document::{ALERT, API_VERSION, ASSIGNMENTS, ENVOY_DOMAINS, OVERRIDES, PLAN, RULE};
use crate::durations;
use crate::profile_document::kind;

/// A rule as a document, with the line that begins it.
pub fn manifest(rule: &RuleBody) -> String {
    let mut text = format!(
        "---\napiVersion: {API_VERSION}\nkind: {RULE}\nmetadata: {{ namespace: {}, name: {} }}\n",
        scalar(&rule.namespace.clone().into()),
        scalar(&rule.name.clone().into()),
    );
    let spec = spec(rule);
    if spec.is_empty() {
        text.push_str("spec: {}\n");
        return text;
    }
    text.push_str("spec:\n");
    for (field, value) in &spec {
        let items = value.as_array().filter(|items| items.iter().any(Value::is_object));
        let Some(items) = items else {
            let _ = writeln!(text, "  {field}: {}", flow(value));
            continue;
        };
        let _ = writeln!(text, "  {field}:");
        for item in items {
            let _ = writeln!(text, "    - {}", flow(item));
        }
    }
    text
}

/// A profile as a document, with the line that begins it.
pub fn profile_manifest(profile: &ProfileBody) -> String {
    let mut fields = profile_spec(profile);
    let kind = kind(profile);
    let mut text = format!("---\napiVersion: {API_VERSION}\nkind: {kind}\n");
    if kind == ENVOY_DOMAINS {
        fields.shift_remove("reads");
        let mut entry = Map::from_iter([("name".to_owned(), profile.name.clone().into())]);
        entry.extend(fields);
        let _ = writeln!(text, "spec:\n  - {}", flow(&entry.into()));
        return text;
    }
    let name = scalar(&profile.name.clone().into());
    let _ = writeln!(text, "metadata: {{ name: {name} }}\nspec:");
    for (field, value) in &fields {
        let Some(sources) = value.as_object().filter(|_| field == "attributes") else {
            let _ = writeln!(text, "  {field}: {}", flow(value));
            continue;
        };
        let _ = writeln!(text, "  {field}:");
        for (name, source) in sources {
            let _ = writeln!(text, "    {}: {}", scalar(&name.clone().into()), flow(source));
        }
    }
    text
}

/// A plan as a document, with the line that begins it.
pub fn plan_manifest(plan: &PlanBody) -> String {
    let name = scalar(&plan.name.clone().into());
    let mut text =
        format!("---\napiVersion: {API_VERSION}\nkind: {PLAN}\nmetadata: {{ name: {name} }}\n");
    if plan.description.is_empty() && plan.rules.is_empty() {
        text.push_str("spec: {}\n");
        return text;
    }
    text.push_str("spec:\n");
    if !plan.description.is_empty() {
        let _ = writeln!(text, "  description: {}", scalar(&plan.description.clone().into()));
    }
    if !plan.rules.is_empty() {
        text.push_str("  rules:\n");
    }
    for rule in &plan.rules {
        let _ = writeln!(text, "    - {}", flow(&planned(rule)));
    }
    text
}

fn planned(rule: &PlanRule) -> Value {
    let Ok(Value::Object(fields)) = serde_json::to_value(rule) else { return Value::Null };
    let fields = fields.into_iter().map(|(field, value)| match value {
        Value::Array(limits) => (field, limits.into_iter().map(limit).collect()),
        value => (field, value),
    });
    fields.collect::<Map<_, _>>().into()
}

/// Assignments as a document, with the line that begins it. Empty if there are none.
pub fn assignments_manifest(assignments: &[ApplyAssignment]) -> String {
    if assignments.is_empty() {
        return String::new();
    }
    let mut text = format!("---\napiVersion: {API_VERSION}\nkind: {ASSIGNMENTS}\nspec:\n");
    for fields in assignments.iter().filter_map(|one| serde_json::to_value(one).ok()) {
        let _ = writeln!(text, "  - {}", flow(&fields));
    }
    text
}

/// The overrides of one rule as a document, with the line that begins it.
pub fn override_manifest(overrides: &[ApplyOverride]) -> String {
    let Some(first) = overrides.first() else { return String::new() };
    let mut text = format!(
        "---\napiVersion: {API_VERSION}\nkind: {OVERRIDES}\nmetadata: {{ namespace: {}, rule: {} }}\nspec:\n",
        scalar(&first.namespace.clone().into()),
        scalar(&first.rule.clone().into()),
    );
    for one in overrides {
        let Ok(Value::Object(fields)) = serde_json::to_value(one) else { continue };
        let identity = ["namespace", "rule"];
        let fields = fields.into_iter().filter(|(field, _)| !identity.contains(&field.as_str()));
        let fields = fields.map(|(field, value)| match value {
            Value::Array(limits) => (field, limits.into_iter().map(limit).collect()),
            value => (field, value),
        });
        let _ = writeln!(text, "  - {}", flow(&fields.collect::<Map<_, _>>().into()));
    }
    text
}

/// An alert as a document, with the line that begins it.
pub fn alert_manifest(alert: &ApplyAlert) -> String {
    let mut text = format!(
        "---\napiVersion: {API_VERSION}\nkind: {ALERT}\nmetadata: {{ name: {} }}\nspec:\n",
        scalar(&alert.name.clone().into()),
    );
    let Ok(Value::Object(fields)) = serde_json::to_value(alert) else { return text };
    let defaults = [
        ("enabled", json!(true)),
        ("thresholds_percent", json!(THRESHOLDS_PERCENT)),
        ("window_s", json!(WINDOW_S)),
        ("checks_min", json!(CHECKS_MIN)),
    ];
    for (field, value) in fields {
        let is_default = defaults.iter().any(|(name, default)| *name == field && *default == value);
        let is_default = is_default
            || field == "namespace" && alert.rule.is_some() && value == DEFAULT_NAMESPACE;
        if field == "name" || is_default {
            continue;
        }
        let (field, value) = match (field.as_str(), &value) {
            ("window_s", Value::Number(seconds)) => {
                let ms = seconds.as_u64().unwrap_or_default() * 1_000;
                ("window".to_owned(), durations::written(ms).into())
            }
            ("webhooks", Value::Array(one)) if one.len() == 1 => {
                ("webhook".to_owned(), one[0].clone())
            }
            _ => (field, value),
        };
        let _ = writeln!(text, "  {field}: {}", flow(&value));
    }
    text
}

/// The fields of a profile that differ from their defaults, without its name.
fn profile_spec(profile: &ProfileBody) -> Map<String, Value> {
    let identity = json!({ "name": profile.name, "reads": profile.reads });
    let defaults: Option<ProfileBody> = serde_json::from_value(identity).ok();
    let defaults = serde_json::to_value(defaults).unwrap_or_default();
    let Ok(Value::Object(mut fields)) = serde_json::to_value(profile) else { return Map::new() };
    fields.retain(|field, value| field == "reads" || defaults[field] != *value);
    let is_default = |field: &str, value: &Value| {
        let defaults = [("ipv6_prefix", json!(64)), ("hash", json!(false))];
        defaults.iter().any(|(name, default)| *name == field && default == value)
    };
    let sources = fields.get_mut("attributes").and_then(Value::as_object_mut);
    for source in sources.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        source.retain(|field, value| !is_default(field, value));
    }
    if let Some(cost) = fields.get_mut("cost").and_then(Value::as_object_mut) {
        cost.retain(|field, value| field != "default" || *value != json!(1));
    }
    fields
}

/// The fields that differ from their defaults.
fn spec(rule: &RuleBody) -> Map<String, Value> {
    let identity = json!({ "namespace": rule.namespace, "name": rule.name });
    let defaults: Option<RuleBody> = serde_json::from_value(identity).ok();
    let defaults = serde_json::to_value(defaults).unwrap_or_default();
    let Ok(Value::Object(fields)) = serde_json::to_value(rule) else { return Map::new() };
    let mut spec = Map::new();
    for (field, value) in fields {
        if defaults[&field] == value {
            continue;
        }
        let value = match value {
            Value::Array(limits) if field == "limits" => limits.into_iter().map(limit).collect(),
            Value::Array(variants) if field == "variants" => {
                variants.into_iter().map(variant).collect()
            }
            value => value,
        };
        let (field, value) = with_unit(field, value);
        spec.insert(field, value);
    }
    spec
}

fn variant(mut variant: Value) -> Value {
    if let Some(limits) = variant.get_mut("limits").and_then(Value::as_array_mut) {
        for one in limits {
            *one = limit(one.take());
        }
    }
    variant
}

fn limit(limit: Value) -> Value {
    let Value::Object(fields) = limit else { return limit };
    let defaults =
        [("count_denied", json!(false)), ("time_zone", json!("UTC")), ("anchor_day", json!(1))];
    let is_default = |field: &str, value: &Value| {
        defaults.iter().any(|(name, default)| *name == field && default == value)
    };
    let fields = fields.into_iter().filter(|(field, value)| !is_default(field, value));
    fields.map(|(field, value)| with_unit(field, value)).collect::<Map<_, _>>().into()
}

/// `window_ms: 60000` as `window: 1m`.
fn with_unit(field: String, value: Value) -> (String, Value) {
    let written = |value: &Value| value.as_u64().map(|ms| Value::from(durations::written(ms)));
    let times = match &value {
        Value::Array(times) => times.iter().map(written).collect(),
        time => written(time),
    };
    match (field.strip_suffix("_ms"), times) {
        (Some(name), Some(times)) => (name.to_owned(), times),
        _ => (field, value),
    }
}

/// A value on one line.
fn flow(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let field = |(field, value): (&String, &Value)| {
                format!("{}: {}", scalar(&field.clone().into()), flow(value))
            };
            let fields = fields.iter().map(field);
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        scalar_value => scalar(scalar_value),
    }
}

/// A scalar. Texts get quotes unless all readers of YAML take them as texts. A text in JSON is one in YAML.
fn scalar(value: &Value) -> String {
    match value.as_str() {
        Some(text) if is_plain(text) => text.to_owned(),
        _ => value.to_string(),
    }
}

fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let begins = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/');
    let plain = |c: char| c.is_ascii_alphanumeric() || ['_', '.', '/', '-'].contains(&c);
    let is_duration = text.ends_with(['s', 'm', 'h', 'd'])
        && text.starts_with(|first: char| ('1'..='9').contains(&first))
        && text.chars().all(|c| c.is_ascii_alphanumeric() && c != 'e');
    let is_word = WORDS.contains(&text.to_ascii_lowercase().as_str());
    (begins || is_duration) && text.chars().all(plain) && !is_word
}

#[cfg(test)]
mod tests;
