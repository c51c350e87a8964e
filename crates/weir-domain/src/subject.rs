//! Subjects of counters, named by a digest so that user input never enters a key.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// The most characters of an attribute's value in a subject that statistics show.
pub const SHOWN_VALUE_CHARS_MAX: usize = 128;

/// 128 bits of SHA-256 over the values of a rule's `count_by`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubjectKey(pub u128);

/// The part of an attribute's value that statistics show.
pub fn shown_value(value: &str) -> &str {
    // No character is shorter than a byte.
    if value.len() <= SHOWN_VALUE_CHARS_MAX {
        return value;
    }
    value.char_indices().nth(SHOWN_VALUE_CHARS_MAX).map_or(value, |(end, _)| &value[..end])
}

/// The digest of a subject while values are added to it.
#[derive(Debug, Clone, Default)]
pub struct SubjectHasher(Sha256);

impl SubjectHasher {
    /// Adds one attribute with its value.
    pub fn value(&mut self, attribute: &str, value: &str) {
        self.field(1, attribute, value);
    }

    /// Adds one attribute that can have any value.
    pub fn any(&mut self, attribute: &str) {
        self.field(2, attribute, "");
    }

    /// The key of the values, in the order in which they were added.
    pub fn finish(self) -> SubjectKey {
        let digest = self.0.finalize();
        let mut half = [0; 16];
        half.copy_from_slice(&digest[..16]);
        SubjectKey(u128::from_be_bytes(half))
    }

    /// Lengths precede contents, so that different lists of fields never have the same bytes.
    fn field(&mut self, tag: u8, attribute: &str, value: &str) {
        self.0.update([tag]);
        self.0.update((attribute.len() as u64).to_le_bytes());
        self.0.update(attribute.as_bytes());
        self.0.update((value.len() as u64).to_le_bytes());
        self.0.update(value.as_bytes());
    }
}

impl SubjectKey {
    /// 32 hexadecimal digits.
    pub fn to_hex(self) -> String {
        let mut hex = String::with_capacity(32);
        write!(hex, "{:032x}", self.0).expect("writing to a string cannot fail");
        hex
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(fields: &[(&str, &str)]) -> SubjectKey {
        let mut hasher = SubjectHasher::default();
        for (attribute, value) in fields {
            hasher.value(attribute, value);
        }
        hasher.finish()
    }

    #[test]
    fn fields_do_not_run_together_and_a_star_is_a_plain_value() {
        assert_ne!(key(&[("a", "bc")]), key(&[("ab", "c")]));
        assert_ne!(key(&[("a", "b"), ("c", "d")]), key(&[("a", "bcd")]));
        let mut any = SubjectHasher::default();
        any.any("user");
        assert_ne!(any.finish(), key(&[("user", "*")]));
        assert_eq!(key(&[("user", "u")]), key(&[("user", "u")]));
        assert_eq!(key(&[]).to_hex().len(), 32);
    }
}
