//! The attributes of a descriptor of Envoy's rate limit service.

use std::collections::BTreeMap;

use super::values;
use crate::names::ATTRIBUTES_MAX;

/// The attribute that holds the keys of a descriptor in their order, joined with dots.
pub const DESCRIPTOR_ATTRIBUTE: &str = "descriptor";

/// The most bytes of the name of an attribute.
const ATTRIBUTE_BYTES_MAX: usize = 64;

/// The attributes of the first [`ATTRIBUTES_MAX`] entries. `rename` replaces names of attributes. A key that occurs again gets
/// a number. If there is room, [`DESCRIPTOR_ATTRIBUTE`] is added.
pub fn attributes_of<'e>(
    entries: impl IntoIterator<Item = (&'e str, &'e [u8])>,
    rename: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut attributes = BTreeMap::new();
    let mut keys = String::new();
    for (key, value) in entries.into_iter().take(ATTRIBUTES_MAX) {
        let name = attribute_of_key(key, |_| false);
        let name = rename.get(&name).unwrap_or(&name);
        let name = attribute_of_key(name, |name| attributes.contains_key(name));
        attributes.insert(name, values::value(value));
        if !keys.is_empty() {
            keys.push('.');
        }
        keys.push_str(key);
    }
    if attributes.len() < ATTRIBUTES_MAX {
        let keys = values::value(keys.as_bytes());
        attributes.entry(DESCRIPTOR_ATTRIBUTE.to_owned()).or_insert(keys);
    }
    attributes
}

/// The attribute of a key: in lower case, with `_` for characters that a name cannot have, and with a number behind it if the
/// name is taken.
pub fn attribute_of_key(key: &str, taken: impl Fn(&str) -> bool) -> String {
    let prefix = if key.starts_with(|first: char| first.is_ascii_alphabetic()) { "" } else { "x_" };
    let character = |byte: &u8| match byte.to_ascii_lowercase() {
        byte @ (b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-') => char::from(byte),
        _ => '_',
    };
    let mut name = prefix.to_owned();
    name.extend(key.as_bytes().iter().take(ATTRIBUTE_BYTES_MAX - prefix.len()).map(character));
    let mut free = name.clone();
    let mut number = 1;
    while taken(&free) {
        number += 1;
        let suffix = format!("_{number}");
        free = name.chars().take(ATTRIBUTE_BYTES_MAX - suffix.len()).collect();
        free.push_str(&suffix);
    }
    free
}
