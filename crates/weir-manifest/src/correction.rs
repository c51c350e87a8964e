//! Replaces the value that an error of the deserialiser is about, so that the errors after it are found too.

use serde_json::{Value, json};

/// Replaces or removes the value at a path, as the text of the error demands. Returns false if the error does not tell how.
pub(crate) fn correct(value: &mut Value, path: &str, text: &str) -> bool {
    if text.starts_with("unknown field `") {
        return remove(value, path);
    }
    let (Some(expected), Some(found)) = (expected(text), at(value, path)) else { return false };
    // An error within a value of several forms has the path of the whole value.
    if found.is_object() && !text.starts_with("invalid type: map") {
        return false;
    }
    let before = std::mem::replace(found, expected);
    *found != before
}

/// A value of the kind that is expected.
fn expected(text: &str) -> Option<Value> {
    if text.starts_with("unknown variant `") {
        let (_, words) = text.rsplit_once("`, expected ")?;
        return words.split('`').nth(1).map(Value::from);
    }
    let (_, expected) = text.rsplit_once(", expected ")?;
    Some(match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64" | "isize" => json!(1),
        "f32" | "f64" => json!(1.0),
        "a boolean" => json!(true),
        "a string" => json!("x"),
        "a sequence" => json!([]),
        "a map" => json!({}),
        _ => return None,
    })
}

/// The value at a path such as `limits[0].window_ms`.
fn at<'v>(value: &'v mut Value, path: &str) -> Option<&'v mut Value> {
    let mut found = value;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let (name, places) = part.split_once('[').unwrap_or((part, ""));
        if !name.is_empty() {
            found = found.get_mut(name)?;
        }
        for place in places.split('[').filter(|place| !place.is_empty()) {
            found = found.get_mut(place.trim_end_matches(']').parse::<usize>().ok()?)?;
        }
    }
    Some(found)
}

fn remove(value: &mut Value, path: &str) -> bool {
    let (around, name) = path.rsplit_once('.').unwrap_or(("", path));
    let around = at(value, around).and_then(Value::as_object_mut);
    around.is_some_and(|around| around.shift_remove(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_an_error_is_replaced_or_removed() {
        let mut value = json!({ "a": [{ "b": "five", "c": 1 }], "mode": "x", "d": 1 });
        let number = "invalid type: string \"five\", expected u64";
        assert!(correct(&mut value, "a[0].b", number));
        assert!(correct(&mut value, "a[0].c", "unknown field `c`, expected `b`"));
        assert!(correct(&mut value, "mode", "unknown variant `x`, expected `shadow` or `off`"));
        assert_eq!(value, json!({ "a": [{ "b": 1 }], "mode": "shadow", "d": 1 }));
        assert!(!correct(&mut value, "a[0].b", number), "that did not help");
        assert!(!correct(&mut value, "a[0]", number), "somewhere in the object");
        assert!(!correct(&mut value, "", "missing field `e`"));
        assert!(!correct(&mut value, "z[3].y", "unknown field `y`, expected `b`"));
    }
}
