//! The text of a subject.

use std::collections::BTreeMap;

use crate::model::request_link::encoded;

/// `user u-17, region eu`.
pub fn label(attributes: &BTreeMap<String, String>) -> String {
    if attributes.is_empty() {
        return "all requests".to_owned();
    }
    let one = |(name, value): (&String, &String)| match value.as_str() {
        "" => format!("{name} (empty)"),
        value => format!("{name} {value}"),
    };
    attributes.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The path of the page of a subject, below the tenant.
pub fn page(attributes: &BTreeMap<String, String>) -> String {
    let json = serde_json::to_string(attributes).unwrap_or_default();
    format!("subjects?attributes={}", encoded(&json))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_preserve_every_value() {
        let attributes = BTreeMap::from([("user".to_owned(), "o&n".to_owned())]);
        assert_eq!(page(&attributes), "subjects?attributes=%7B%22user%22%3A%22o%26n%22%7D");
    }

    #[test]
    fn attributes_are_sorted() {
        let of = |pairs: &[(&str, &str)]| {
            label(&pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect())
        };
        assert_eq!(of(&[("user", "u-17"), ("region", "")]), "region (empty), user u-17");
        assert_eq!(of(&[]), "all requests");
    }
}
