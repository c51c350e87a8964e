//! E-mail addresses in one normal form: two texts that people read as the same address name the same account.

use std::fmt;

use unicode_normalization::UnicodeNormalization as _;

use crate::names;

/// An address in normal form: NFKC, lower case, without invisible characters, 3 to 254 bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EmailAddress(String);

impl EmailAddress {
    /// Brings `text` into the normal form, or names the form it must have.
    ///
    /// Upper case and full-width letters are folded; blanks, control, invisible and direction characters are refused.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        // Folding shortens a character at most to a quarter of its bytes; longer texts cannot fit.
        if text.len() > 4 * names::EMAIL_BYTES_MAX {
            return Err(names::email(text).expect_err("longer than an address can be"));
        }
        let folded = folded(text);
        names::email(&folded)?;
        Ok(Self(folded))
    }

    /// The address as stored and shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The address as stored and shown.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// The text in NFKC and lower case.
pub(crate) fn folded(text: &str) -> String {
    text.nfkc().flat_map(char::to_lowercase).nfkc().collect()
}

impl fmt::Display for EmailAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> String {
        EmailAddress::parse(text).map(EmailAddress::into_string).unwrap_or_default()
    }

    #[test]
    fn addresses_that_look_alike_have_one_normal_form() {
        let alike = [
            "kate@example.com",
            "Kate@EXAMPLE.com",
            "\u{212a}ate@example.com", // Kelvin sign
            "\u{ff4b}ate@example.com", // full-width letter
            "kate\u{ff20}example.com", // full-width at sign
            "kate@example\u{ff0e}com", // full-width dot
        ];
        for text in alike {
            assert_eq!(parsed(text), "kate@example.com", "{text:?}");
        }
        assert_eq!(parsed("Jo\u{308}rg@example.com"), "j\u{f6}rg@example.com");
    }

    #[test]
    fn invisible_and_direction_characters_are_refused() {
        let hidden = [
            "a\u{200b}@example.com",
            "a\u{ad}@example.com",
            "\u{feff}a@example.com",
            "a\u{202e}b@example.com",
            "a\u{2066}@example.com",
            "a\u{3164}@example.com",
            "<script>@example.com",
            "a @example.com",
            "a@example.com\0",
            "a@",
        ];
        for text in hidden {
            assert!(EmailAddress::parse(text).is_err(), "{text:?}");
        }
        assert!(EmailAddress::parse(&format!("{}@b", "a".repeat(260))).is_err());
        assert!(EmailAddress::parse(&"a".repeat(2_000)).is_err());
    }

    #[test]
    fn the_normal_form_is_its_own_normal_form() {
        for text in ["STRA\u{1e9e}E@example.com", "\u{fb01}n@b"] {
            let once = parsed(text);
            assert!(!once.is_empty(), "{text}");
            assert_eq!(parsed(&once), once, "{text}");
        }
    }
}
