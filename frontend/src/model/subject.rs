//! The text of a subject.

use std::collections::BTreeMap;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_sorted() {
        let of = |pairs: &[(&str, &str)]| {
            label(&pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect())
        };
        assert_eq!(of(&[("user", "u-17"), ("region", "")]), "region (empty), user u-17");
        assert_eq!(of(&[]), "all requests");
    }
}
