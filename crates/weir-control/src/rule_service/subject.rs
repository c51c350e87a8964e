//! Subjects of rules, in the form of the API and in the form of the store.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use weir_domain::overrides::override_keys;
use weir_domain::rule::Rule;
use weir_domain::subject::SubjectKey;
use weir_http::problem::Problem;

/// The subject's values in the order and the forms of `count_by`.
pub(crate) fn subject_values<'a>(
    rule: &Rule,
    subject: &'a BTreeMap<String, String>,
) -> Result<Vec<Cow<'a, str>>, Problem> {
    if let Some(name) = subject.keys().find(|name| !rule.counts_by(name)) {
        return Err(Problem::invalid_field(format!("subject.{name}"), rule.not_counted_by()));
    }
    rule.subject_values(|name| subject.get(name).map(String::as_str)).map_err(|missing| {
        Problem::invalid_field(format!("subject.{missing}"), "must be given: the rule counts by it")
    })
}

/// The digest under which the override of a subject is stored.
pub(crate) fn subject_digest(key: SubjectKey) -> [u8; 32] {
    Sha256::digest(key.0.to_be_bytes()).into()
}

/// The digests under which overrides of a subject can be stored; none if the rule counts by other attributes.
pub(crate) fn override_digests(rule: &Rule, subject: &BTreeMap<String, String>) -> Vec<[u8; 32]> {
    let Ok(values) = rule.subject_values(|name| subject.get(name).map(String::as_str)) else {
        return Vec::new();
    };
    override_keys(rule, &values).into_iter().map(subject_digest).collect()
}

/// A subject that a gate stored. Values that are not texts are omitted, because gates write none.
pub(crate) fn subject_of(stored: Value) -> BTreeMap<String, String> {
    let Value::Object(stored) = stored else { return BTreeMap::new() };
    let texts = stored.into_iter().filter_map(|(name, value)| match value {
        Value::String(value) => Some((name, value)),
        _ => None,
    });
    texts.collect()
}
