//! The text of the JSON and YAML readers about a value of the wrong type, in the words of this API.
//!
//! They say, for example, "invalid value: integer `-3`, expected u64", which names a type of Rust.

/// Says what the value must be, if `reason` is about a value of the wrong type.
pub fn described(reason: &str) -> Option<String> {
    let rest = ["invalid type: ", "invalid value: "].iter().find_map(|p| reason.strip_prefix(p))?;
    let (found, expected) = rest.rsplit_once(", expected ")?;
    Some(format!("must be {}, not {}", wanted(expected), given(found)))
}

fn wanted(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of at least 0",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
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
        "unit" | "Option value" => "null",
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
            (r#"{"count":-3}"#, "must be a whole number of at least 0, not `-3`"),
            (r#"{"count":1.5}"#, "must be a whole number of at least 0, not `1.5`"),
            (
                r#"{"count":"five, expected"}"#,
                "must be a whole number of at least 0, not \"five, expected\"",
            ),
            (r#"{"count":[1]}"#, "must be a whole number of at least 0, not a list"),
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
    fn other_reasons_are_left_as_they_are() {
        for reason in
            ["missing field `name`", "unknown variant `x`, expected `a`", "must be 1 to 9"]
        {
            assert_eq!(described(reason), None);
        }
    }
}
