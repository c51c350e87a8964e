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
        value => format!("{name} {}", shown(value)),
    };
    attributes.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// A value with its control characters, and those that change the direction of text, as escapes such as `\u{202e}`.
pub fn shown(value: &str) -> String {
    let hides = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let mut text = String::new();
    for c in value.chars() {
        if hides(c) { text.extend(c.escape_unicode()) } else { text.push(c) }
    }
    text
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
    fn characters_that_change_how_others_are_drawn_are_escaped() {
        let of = |value: &str| label(&BTreeMap::from([("user".to_owned(), value.to_owned())]));
        assert_eq!(of("evil\u{202e}txt\t"), "user evil\\u{202e}txt\\u{9}");
        assert_eq!(of("\u{2066}a\u{2069}\u{7f}"), "user \\u{2066}a\\u{2069}\\u{7f}");
        let drawn = "a  b é 例 👩\u{200d}🚀 שלום";
        assert_eq!(of(drawn), format!("user {drawn}"));
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
