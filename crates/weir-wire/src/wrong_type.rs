//! The text of the JSON and YAML readers about a value of the wrong type, in the words of this API.
//!
//! They say, for example, "invalid value: integer `-3`, expected u64", which names a type of Rust, and they repeat the value,
//! however long it is.

use std::borrow::Cow;

/// The most characters of a value that a reason repeats.
const REPEATED_MAX: usize = 60;

/// Says what the value must be, if `reason` is about a value of the wrong type.
pub fn described(reason: &str) -> Option<String> {
    if reason.starts_with("invalid length ") && reason.contains(", expected struct ") {
        return Some("must be an object, not a list".to_owned());
    }
    if let Some((before, word, after)) = unknown_word(reason) {
        let shown = shortened(word);
        return (shown != word).then(|| format!("{before}{shown}{after}"));
    }
    let rest = ["invalid type: ", "invalid value: "].iter().find_map(|p| reason.strip_prefix(p))?;
    let (found, expected) = rest.rsplit_once(", expected ")?;
    Some(format!("must be {}, not {}", wanted(expected), shortened(given(found))))
}

/// The parts of a reason such as "unknown variant `x`, expected `a` or `b`", before, of and after the word.
fn unknown_word(reason: &str) -> Option<(&str, &str, &str)> {
    let names = ["unknown variant `", "unknown field `"];
    let start = names.iter().find(|name| reason.starts_with(**name))?.len();
    let end = reason.rfind("`, expected ").or_else(|| reason.rfind("`, there are no "))?;
    Some((&reason[..start], reason.get(start..end)?, &reason[end..]))
}

/// A value as the reason repeats it: the beginning of a long one.
fn shortened(value: &str) -> Cow<'_, str> {
    match value.char_indices().nth(REPEATED_MAX) {
        Some((end, _)) => format!("{}…", &value[..end]).into(),
        None => value.into(),
    }
}

fn wanted(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number without a sign",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        "string or map" => "a string",
        "unit" => "null",
        other if other.starts_with("struct ") => "an object",
        other => other,
    }
}

/// The value without the name of its type, which its form shows.
fn given(found: &str) -> &str {
    match found {
        "sequence" => "a list",
        "map" => "an object",
        "unit" | "unit value" | "Option value" => "null",
        other => {
            let values = ["integer ", "floating point ", "boolean ", "string ", "character "];
            values.iter().find_map(|name| other.strip_prefix(name)).unwrap_or(other)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct Sample {
        count: Option<u32>,
        share: Option<f64>,
        on: Option<bool>,
        names: Option<Vec<String>>,
        inner: Option<Box<Sample>>,
    }

    #[test]
    fn values_of_a_wrong_type_are_described_without_a_type_of_rust() {
        for (json, said) in [
            (r#"{"count":-3}"#, "must be a whole number without a sign, not `-3`"),
            (r#"{"count":1.5}"#, "must be a whole number without a sign, not `1.5`"),
            (
                r#"{"count":"five, expected"}"#,
                "must be a whole number without a sign, not \"five, expected\"",
            ),
            (r#"{"count":[1]}"#, "must be a whole number without a sign, not a list"),
            (r#"{"share":true}"#, "must be a number, not `true`"),
            (r#"{"on":1}"#, "must be true or false, not `1`"),
            (r#"{"names":{}}"#, "must be a list, not an object"),
            (r#"{"names":[null]}"#, "must be a string, not null"),
            (r#"{"inner":"x"}"#, "must be an object, not \"x\""),
        ] {
            let error = serde_json::from_str::<Sample>(json).expect_err(json).to_string();
            let reason = error.rsplit_once(" at line ").expect("it ends with the place").0;
            assert_eq!(described(reason).as_deref(), Some(said), "{reason}");
        }
    }

    #[test]
    fn list_for_an_object_is_described_without_a_type_of_rust() {
        let error = serde_json::from_str::<Sample>(r#"{"inner":[]}"#).expect_err("no list");
        let reason = error.to_string();
        assert!(reason.starts_with("invalid length 0, expected struct Sample with 5 elements"));
        assert_eq!(described(&reason).as_deref(), Some("must be an object, not a list"));
    }

    #[test]
    fn word_of_another_type_must_be_a_string() {
        let said = described("invalid type: unit value, expected string or map");
        assert_eq!(said.as_deref(), Some("must be a string, not null"));
    }

    #[test]
    fn long_values_are_repeated_in_part() {
        let long = "é".repeat(4_000);
        let part = "é".repeat(REPEATED_MAX - 1);
        let reason = format!("invalid type: string \"{long}\", expected a sequence");
        assert_eq!(described(&reason), Some(format!("must be a list, not \"{part}…")));
        for (before, after) in [
            ("unknown variant `", "`, expected `a` or `b`"),
            ("unknown field `", "`, there are no fields"),
        ] {
            let said = described(&format!("{before}{long}{after}"));
            assert_eq!(said, Some(format!("{before}{part}é…{after}")));
        }
    }

    #[test]
    fn other_reasons_are_left_as_they_are() {
        for reason in
            ["missing field `name`", "unknown variant `x`, expected `a`", "must be 1 to 9"]
        {
            assert_eq!(described(reason), None);
        }
    }
}
