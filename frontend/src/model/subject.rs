//! Subjects in words.

use std::collections::BTreeMap;

/// `user u-17, region eu`.
pub fn words(attributes: &BTreeMap<String, String>) -> String {
    if attributes.is_empty() {
        return "all together".to_owned();
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
    fn attributes_are_named_in_order() {
        let of = |pairs: &[(&str, &str)]| {
            words(&pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect())
        };
        assert_eq!(of(&[("user", "u-17"), ("region", "")]), "region (empty), user u-17");
        assert_eq!(of(&[]), "all together");
    }
}
