//! The forms of names and values, and how a wrong field is reported.

/// The namespace of a request that names none.
pub const DEFAULT_NAMESPACE: &str = "default";
/// The most attributes of a request.
pub const ATTRIBUTES_MAX: usize = 32;
/// The most bytes of an attribute's value.
pub const VALUE_BYTES_MAX: usize = 512;
/// The most bytes of an e-mail address.
pub const EMAIL_BYTES_MAX: usize = 254;

/// A field outside its bounds: its path and the requirement that it fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidField {
    /// Path in the JSON body, such as `limits[0].window_ms`.
    pub field: String,
    /// The requirement, to follow the name of the field.
    pub reason: String,
}

impl InvalidField {
    /// A wrong field, and the requirement it fails.
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }
}

/// Checks the name of a namespace.
pub fn namespace(name: &str) -> Result<(), &'static str> {
    let rest_is_fine = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
    form(name, 63, |first| matches!(first, b'a'..=b'z' | b'0'..=b'9'), rest_is_fine)
        .then_some(())
        .ok_or("must be 1 to 63 lower-case letters, digits, hyphens and underscores, the first a letter or digit")
}

/// Checks the name of a rule.
pub fn rule(name: &str) -> Result<(), &'static str> {
    let rest_is_fine = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    form(name, 63, |first| matches!(first, b'a'..=b'z' | b'0'..=b'9'), rest_is_fine)
        .then_some(())
        .ok_or(
            "must be 1 to 63 lower-case letters, digits and hyphens, the first a letter or digit",
        )
}

/// Checks the name of an attribute.
pub fn attribute(name: &str) -> Result<(), &'static str> {
    let rest_is_fine = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-');
    form(name, 64, |first| first.is_ascii_lowercase(), rest_is_fine)
        .then_some(())
        .ok_or("must be 1 to 64 lower-case letters, digits, hyphens, underscores and dots, the first a letter")
}

/// Checks the value of an attribute.
pub fn value(value: &str) -> Result<(), &'static str> {
    if value.len() > VALUE_BYTES_MAX {
        Err("must be at most 512 bytes")
    } else if value.chars().any(char::is_control) {
        Err("must not contain control characters")
    } else {
        Ok(())
    }
}

/// Checks a text that people read, such as a description, by its number of characters.
pub fn prose(text: &str, chars_max: usize) -> Result<(), String> {
    if text.chars().count() > chars_max {
        Err(format!("must be at most {chars_max} characters"))
    } else if text.chars().any(|c| c.is_control() && c != '\n') {
        Err("must not contain control characters".to_owned())
    } else {
        Ok(())
    }
}

/// Checks the name of a tenant, a key or a person.
pub fn title(text: &str) -> Result<(), String> {
    if text.is_empty() || text.trim() != text {
        Err("must not be empty, or begin or end with a space".to_owned())
    } else if text.contains('\n') {
        Err("must not contain control characters".to_owned())
    } else if text.chars().any(overrides_direction) {
        Err("must not contain characters that override the direction of writing".to_owned())
    } else if text.chars().all(|c| c.is_whitespace() || is_invisible(c)) {
        Err("must contain a visible character".to_owned())
    } else {
        prose(text, 100)
    }
}

/// Checks the form of an e-mail address. [`crate::email::EmailAddress`] also brings it into its normal form.
pub fn email(text: &str) -> Result<(), &'static str> {
    const PUNCTUATION: &str = "!#$%&'*+-/=?^_`{|}~.";
    let letter = |c: char| c.is_alphanumeric() && !is_invisible(c);
    let well_formed = text.len() <= EMAIL_BYTES_MAX
        && text.split_once('@').is_some_and(|(user, host)| {
            !user.is_empty()
                && !host.is_empty()
                && user.chars().all(|c| letter(c) || PUNCTUATION.contains(c))
                && host.chars().all(|c| letter(c) || c == '.' || c == '-')
        });
    if well_formed { Ok(()) } else { Err("must be an e-mail address of at most 254 bytes") }
}

/// Whether a character has no appearance of its own: Unicode's `Default_Ignorable_Code_Point`, and the blank of Braille.
fn is_invisible(c: char) -> bool {
    matches!(u32::from(c),
        0xAD | 0x34F | 0x61C | 0x115F..=0x1160 | 0x17B4..=0x17B5 | 0x180B..=0x180F
        | 0x200B..=0x200F | 0x202A..=0x202E | 0x2060..=0x206F | 0x2800 | 0x3164
        | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFF8 | 0x1_BCA0..=0x1_BCA3
        | 0x1_D173..=0x1_D17A | 0xE_0000..=0xE_0FFF)
}

/// Whether a character embeds, overrides or isolates the direction of the text after it.
fn overrides_direction(c: char) -> bool {
    matches!(u32::from(c), 0x202A..=0x202E | 0x2066..=0x2069)
}

fn form(name: &str, most: usize, first: impl Fn(u8) -> bool, rest: impl Fn(u8) -> bool) -> bool {
    let mut bytes = name.bytes();
    name.len() <= most && bytes.next().is_some_and(first) && bytes.all(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_to_their_forms() {
        for good in ["a", "0-x", "default", &"x".repeat(63)] {
            assert_eq!(namespace(good), Ok(()), "{good}");
            assert_eq!(rule(good), Ok(()), "{good}");
        }
        for bad in ["", "-a", "A", "a b", "a.b", "ä", &"x".repeat(64)] {
            assert!(namespace(bad).is_err(), "{bad}");
            assert!(rule(bad).is_err(), "{bad}");
        }
        assert_eq!(namespace("a_b"), Ok(()));
        assert!(rule("a_b").is_err());
        assert_eq!(attribute("user.id-2_x"), Ok(()));
        assert!(attribute("2x").is_err());
        assert!(attribute(&"x".repeat(65)).is_err());
    }

    #[test]
    fn values_may_be_any_text_without_control_characters() {
        assert_eq!(value("König 🦀"), Ok(()));
        assert_eq!(value(&"x".repeat(512)), Ok(()));
        assert!(value(&"x".repeat(513)).is_err());
        assert!(value("a\nb").is_err());
        assert!(value("a\u{85}b").is_err());
    }

    #[test]
    fn addresses_and_titles_keep_to_their_forms() {
        for fine in ["ada@example.com", "a@b", "ü@example.com"] {
            assert_eq!(email(fine), Ok(()), "{fine}");
        }
        for wrong in [
            "",
            "ada",
            "@b",
            "a@",
            "a@b@c",
            "a b@c",
            "a@b\n",
            "<script>@b",
            "a\u{200b}@b",
            "a@b\u{202e}c",
            "\u{3164}@b",
            &format!("{}@b", "a".repeat(260)),
        ] {
            assert!(email(wrong).is_err(), "{wrong}");
        }
        assert_eq!(title("Käse & Söhne"), Ok(()));
        assert_eq!(title("👩\u{200d}🔬 lab"), Ok(()), "joined emoji");
        for wrong in ["", " a", "a ", "a\nb", "a\u{0}b", &"a".repeat(101)] {
            assert!(title(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn names_need_a_visible_character_and_keep_the_direction_of_writing() {
        for invisible in ["\u{200b}", "\u{3164}", "\u{2060}\u{feff}", "\u{2800}"] {
            assert_eq!(title(invisible), Err("must contain a visible character".to_owned()));
        }
        assert!(title("abc\u{202e}fdp").is_err());
    }
}
