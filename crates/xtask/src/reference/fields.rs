//! A schema as a list of fields, with the fields of its objects folded below them.

use std::fmt::Write as _;

use serde_json::Value;

use super::document::{Document, Parameter};
use super::markup::{escaped, inline};

/// The fields of objects at most this deep are listed; deeper objects are only named.
const DEPTH: usize = 5;

/// The parameters of an operation.
pub fn parameters(document: &Document, parameters: &[Parameter<'_>]) -> String {
    let mut html = String::from("<ul class=\"fields\">");
    for parameter in parameters {
        let Parameter { name, place, required, description, schema } = *parameter;
        let place = format!("{place}, ");
        write_field(
            document,
            &Field { name, place, required, description, schema },
            &mut html,
            &mut Vec::new(),
        );
    }
    html + "</ul>"
}

/// The fields of an object, or the type of another schema.
pub fn fields(document: &Document, schema: &Value) -> String {
    let mut html = String::new();
    write_inner(document, schema, &mut html, &mut Vec::new());
    if html.is_empty() {
        let _ = write!(html, "<p class=\"type\">{}</p>", escaped(&type_of(document, schema)));
    }
    html
}

struct Field<'a> {
    name: &'a str,
    /// The place of a parameter; empty for a field of a body.
    place: String,
    required: bool,
    description: &'a str,
    schema: &'a Value,
}

fn write_field(document: &Document, field: &Field<'_>, html: &mut String, above: &mut Vec<String>) {
    let name = escaped(field.name);
    let kind = escaped(&type_of(document, field.schema));
    let _ =
        write!(html, "<li><code>{name}</code> <span class=\"type\">{}{kind}</span>", field.place);
    if field.required {
        html.push_str(" <span class=\"needed\">required</span>");
    }
    for bound in bounds(document.resolve(not_null(field.schema)).1, field.description) {
        let _ = write!(html, " <span class=\"bound\">{bound}</span>");
    }
    if !field.description.is_empty() {
        let _ = write!(html, "<div>{}</div>", inline(field.description));
    }
    let mut inner = String::new();
    write_inner(document, field.schema, &mut inner, above);
    if !inner.is_empty() {
        let _ =
            write!(html, "<details><summary>Inside <code>{name}</code></summary>{inner}</details>");
    }
    html.push_str("</li>");
}

/// Writes the fields of an object, the variants of a choice, or the fields of the items of a list.
fn write_inner(document: &Document, schema: &Value, html: &mut String, above: &mut Vec<String>) {
    let (name, schema) = document.resolve(not_null(schema));
    let is_above = name.is_some_and(|name| above.iter().any(|one| one == name));
    if is_above || above.len() >= DEPTH {
        return;
    }
    above.push(name.unwrap_or_default().to_owned());
    for part in list(schema, "allOf") {
        write_inner(document, part, html, above);
    }
    if let Some(properties) = schema["properties"].as_object() {
        html.push_str("<ul class=\"fields\">");
        for (name, value) in properties {
            let required = list(schema, "required").any(|one| one == name.as_str());
            let description = described(document, value);
            let field = Field { name, place: String::new(), required, description, schema: value };
            write_field(document, &field, html, above);
        }
        html.push_str("</ul>");
    }
    let variants: Vec<_> = list(schema, "oneOf").filter(|variant| !is_null(variant)).collect();
    for variant in &variants {
        let (name, resolved) = document.resolve(variant);
        let mut inner = String::new();
        write_inner(document, variant, &mut inner, above);
        let title = variant["title"].as_str().or(name).unwrap_or("Otherwise");
        if !inner.is_empty() {
            let about = inline(resolved["description"].as_str().unwrap_or_default());
            let title = escaped(title);
            let _ =
                write!(html, "<details><summary>{title}</summary><p>{about}</p>{inner}</details>");
        }
    }
    for key in ["items", "additionalProperties"] {
        if schema[key].is_object() {
            write_inner(document, &schema[key], html, above);
        }
    }
    above.pop();
}

/// The description of a field, or that of its type.
fn described<'a>(document: &'a Document, schema: &'a Value) -> &'a str {
    let inner = not_null(schema);
    let own = schema["description"].as_str().or_else(|| inner["description"].as_str());
    own.or_else(|| document.resolve(inner).1["description"].as_str()).unwrap_or_default()
}

/// The type in words.
fn type_of(document: &Document, schema: &Value) -> String {
    let or_null = if is_nullable(schema) { " or null" } else { "" };
    let (_, resolved) = document.resolve(not_null(schema));
    if let Some(values) = resolved["enum"].as_array() {
        let values: Vec<_> = values.iter().map(plain).collect();
        return format!("{}{or_null}", values.join(" | "));
    }
    if resolved.get("oneOf").is_some() {
        let variants = list(resolved, "oneOf").filter(|variant| !is_null(variant));
        let mut kinds: Vec<_> = variants.map(|variant| type_of(document, variant)).collect();
        kinds.dedup();
        return format!("{}{or_null}", kinds.join(" or "));
    }
    let kind = match &resolved["type"] {
        Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null").and_then(Value::as_str),
        kind => kind.as_str(),
    };
    let kind = match (kind, resolved["format"].as_str()) {
        (Some("array"), _) => format!("list of {}", type_of(document, &resolved["items"])),
        (Some("string"), Some("date-time")) => "time (RFC 3339)".to_owned(),
        (Some("string"), Some("date")) => "date".to_owned(),
        (Some(kind), _) => kind.to_owned(),
        (None, _) if resolved.get("allOf").is_some() => "object".to_owned(),
        (None, _) => "any JSON".to_owned(),
    };
    kind + or_null
}

/// The bounds of a value, each as HTML, without a form that its description has.
fn bounds(schema: &Value, description: &str) -> Vec<String> {
    let mut bounds = Vec::new();
    for (least, most, unit) in [
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " items"),
        ("minProperties", "maxProperties", " entries"),
    ] {
        let number =
            |key: &str| schema.get(key).and_then(|number| number.as_f64().map(|_| grouped(number)));
        match (number(least), number(most)) {
            (Some(least), Some(most)) => bounds.push(format!("{least} to {most}{unit}")),
            (Some(least), None) => bounds.push(format!("at least {least}{unit}")),
            (None, Some(most)) => bounds.push(format!("at most {most}{unit}")),
            (None, None) => {}
        }
    }
    if let Some(step) = schema.get("multipleOf") {
        bounds.push(format!("multiple of {step}"));
    }
    if schema["uniqueItems"] == true {
        bounds.push("no repeats".to_owned());
    }
    if let Some(form) = form(schema).filter(|form| !description.contains(form)) {
        bounds.push(format!("<code>{}</code>", escaped(&form)));
    }
    if let Some(default) = schema.get("default") {
        bounds.push(format!("default <code>{}</code>", escaped(&plain(default))));
    }
    bounds
}

/// The form of a text: its pattern, or the beginning of an id. Patterns without control characters are for programs.
fn form(schema: &Value) -> Option<String> {
    let pattern = schema["pattern"].as_str().filter(|pattern| !pattern.contains("\\u0000"))?;
    let id = pattern.strip_prefix('^').and_then(|pattern| pattern.split_once("_[0-7]"));
    Some(id.map_or_else(|| pattern.to_owned(), |(kind, _)| format!("{kind}_…")))
}

/// A number with commas between thousands.
fn grouped(number: &Value) -> String {
    let text = number.to_string();
    let whole = text.strip_suffix(".0").unwrap_or(&text);
    if whole.contains('.') {
        return whole.to_owned();
    }
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// The schema without the choice of null.
pub fn not_null(schema: &Value) -> &Value {
    let mut variants = list(schema, "oneOf").filter(|variant| !is_null(variant));
    match (is_nullable(schema), variants.next()) {
        (true, Some(variant)) => variant,
        _ => schema,
    }
}

fn is_nullable(schema: &Value) -> bool {
    list(schema, "oneOf").any(is_null) || list(schema, "type").any(|kind| kind == "null")
}

fn is_null(schema: &Value) -> bool {
    schema["type"] == "null"
}

pub fn list<'a>(schema: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    schema[key].as_array().into_iter().flatten()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let groups = [
            (json!(7), "7"),
            (json!(1000), "1,000"),
            (json!(31_622_400_000_u64), "31,622,400,000"),
            (json!(0.5), "0.5"),
        ];
        for (number, text) in groups {
            assert_eq!(grouped(&number), text);
        }
    }

    #[test]
    fn bounds_are_in_words() {
        let schema = json!({ "type": "integer", "minimum": 1, "maximum": 1000, "default": 50 });
        assert_eq!(bounds(&schema, ""), ["1 to 1,000", "default <code>50</code>"]);
        let schema = json!({ "maxLength": 512, "pattern": "^[^\\u0000-\\u001F]*$" });
        assert_eq!(bounds(&schema, ""), ["at most 512 characters"]);
        let schema = json!({ "pattern": "^rule_[0-7][0-9A-HJKMNP-TV-Z]{25}$" });
        assert_eq!(bounds(&schema, "The rule."), ["<code>rule_…</code>"]);
        assert!(bounds(&schema, "`rule_…`").is_empty());
    }
}
