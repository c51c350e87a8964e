//! The parts of a rule that a path of descriptors names.

use serde_json::json;
use weir_domain::names;
use weir_wire::profiles::ProfileBody;
use weir_wire::rules::{ConditionBody, OperandBody};
use weir_wire::words::Op;

/// The most bytes of the name of a rule or namespace.
const NAME_BYTES_MAX: usize = 63;

/// The namespace of a domain.
pub(super) fn namespace(domain: &str) -> String {
    if names::namespace(domain).is_ok() { domain.to_owned() } else { slug(domain) }
}

/// The profile of a domain whose name no namespace can have.
pub(super) fn domain(domain: &str) -> Option<ProfileBody> {
    if names::namespace(domain).is_ok() {
        return None;
    }
    let namespace = namespace(domain);
    let profile = json!({
        "name": namespace, "reads": "rate_limit_service", "domain": domain, "namespace": namespace,
    });
    serde_json::from_value(profile).ok()
}

/// A name for a rule that is not among those taken.
pub(super) fn name(parts: &[String], taken: &[String]) -> String {
    let name = slug(&parts.join("-"));
    let mut free = name.clone();
    let mut number = 1;
    while taken.contains(&free) {
        number += 1;
        let suffix = format!("-{number}");
        free = name.chars().take(NAME_BYTES_MAX - suffix.len()).collect();
        free.push_str(&suffix);
    }
    free
}

/// Letters, digits and hyphens.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.to_lowercase().chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(NAME_BYTES_MAX);
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "rule".to_owned() } else { slug.to_owned() }
}

/// A condition on an attribute.
pub(super) fn condition(attribute: &str, op: Op, value: &str) -> ConditionBody {
    let value = Some(OperandBody::One(value.to_owned()));
    ConditionBody { attribute: attribute.to_owned(), op, value }
}

/// The condition of a value, which can have `*` for any text.
pub(super) fn value_condition(attribute: &str, value: &str) -> ConditionBody {
    match value.split_once('*') {
        None => condition(attribute, Op::Equals, value),
        Some((prefix, "")) => condition(attribute, Op::Prefix, prefix),
        Some(_) => {
            let parts: Vec<_> = value.split('*').map(escaped).collect();
            condition(attribute, Op::Regex, &format!("^{}$", parts.join(".*")))
        }
    }
}

/// A text as a regular expression that matches exactly it.
fn escaped(text: &str) -> String {
    let mut pattern = String::new();
    for c in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}
