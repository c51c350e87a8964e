//! A request in an address, so that other pages can lead to the test of it: `test?namespace=…&attributes={…}`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The address below the tenant; without a namespace the page's own default stays.
pub fn request_link(namespace: Option<&str>, attributes: &BTreeMap<String, String>) -> String {
    let namespace =
        namespace.map(|namespace| format!("namespace={}&", encoded(namespace))).unwrap_or_default();
    let json = serde_json::to_string(attributes).unwrap_or_default();
    format!("test?{namespace}attributes={}", encoded(&json))
}

/// The attributes of an address, after decoding; none when they cannot be read.
pub fn attributes(text: &str) -> BTreeMap<String, String> {
    serde_json::from_str(text).unwrap_or_default()
}

/// Everything but letters, digits and `-_.~` as `%XX`.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").expect("a text takes all");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_every_value() {
        let subject = BTreeMap::from([("user".to_owned(), "o&n=\"ü\"".to_owned())]);
        assert_eq!(
            request_link(Some("api"), &subject),
            "test?namespace=api&attributes=%7B%22user%22%3A%22o%26n%3D%5C%22%C3%BC%5C%22%22%7D"
        );
        assert_eq!(attributes(r#"{"user":"o&n=\"ü\""}"#), subject);
        assert_eq!(attributes("user=u-17"), BTreeMap::new());
    }
}
