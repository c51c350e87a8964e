//! Times with a unit, such as `1m`, in fields whose name has no unit.

use serde_json::{Map, Value};

use crate::fields::{Fields, join};
use crate::yaml::Misplaced;

const UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
/// The fields of a limit that can have a unit, without the end `_ms` of their names.
pub(crate) const LIMIT_FIELDS: [&str; 5] =
    ["window", "interval", "refill_interval", "drain_interval", "lease"];

/// Replaces the window of an alert's specification at this path: `window: 10m` becomes `window_s: 600`.
pub(crate) fn resolve_seconds(
    spec: &mut Map<String, Value>,
    path: &str,
    fields: &mut Fields,
) -> Result<(), Misplaced> {
    let Some(value) = spec.shift_remove("window") else { return Ok(()) };
    let at = fields.position(&join(path, "window"));
    if spec.contains_key("window_s") {
        return Err(Misplaced::new(at, "`window` and `window_s` are the same field"));
    }
    let ms = value.as_str().and_then(milliseconds).filter(|ms| ms.is_multiple_of(1_000));
    let ms = ms.ok_or_else(|| {
        Misplaced::new(at, "`window` must be a time such as `60s`, `10m`, `1h` or `1d`")
    })?;
    fields.place(join(path, "window_s"), at);
    spec.insert("window_s".to_owned(), (ms / 1_000).into());
    Ok(())
}

/// Replaces times with a unit in the limits and blocks of a rule's specification at this path: `window: 1m` becomes
/// `window_ms: 60000`.
pub(crate) fn resolve(
    spec: &mut Map<String, Value>,
    path: &str,
    fields: &mut Fields,
) -> Result<(), Misplaced> {
    resolve_field(spec, path, "block", fields)?;
    resolve_field(spec, path, "block_memory", fields)?;
    resolve_limits(spec, path, fields)?;
    let variants = spec.get_mut("variants").and_then(Value::as_array_mut);
    for (at, variant) in variants.into_iter().flatten().enumerate() {
        let path = format!("{}[{at}]", join(path, "variants"));
        let Some(variant) = variant.as_object_mut() else { continue };
        resolve_limits(variant, &path, fields)?;
    }
    Ok(())
}

fn resolve_limits(
    map: &mut Map<String, Value>,
    path: &str,
    fields: &mut Fields,
) -> Result<(), Misplaced> {
    let limits = map.get_mut("limits").and_then(Value::as_array_mut);
    for (at, limit) in limits.into_iter().flatten().enumerate() {
        let path = format!("{}[{at}]", join(path, "limits"));
        let Some(limit) = limit.as_object_mut() else { continue };
        for field in LIMIT_FIELDS {
            resolve_field(limit, &path, field, fields)?;
        }
    }
    Ok(())
}

fn resolve_field(
    map: &mut Map<String, Value>,
    path: &str,
    field: &str,
    fields: &mut Fields,
) -> Result<(), Misplaced> {
    let Some(value) = map.shift_remove(field) else { return Ok(()) };
    let at = fields.position(&join(path, field));
    let in_ms = format!("{field}_ms");
    if map.contains_key(&in_ms) {
        return Err(Misplaced::new(at, format!("`{field}` and `{in_ms}` are the same field")));
    }
    let time = |value: &Value| value.as_str().and_then(milliseconds).map(Value::from);
    let ms = match &value {
        Value::Array(times) if field == "block" => times.iter().map(time).collect(),
        time_value => time(time_value),
    };
    let ms = ms.ok_or_else(|| {
        let reason =
            format!("`{field}` must be a time such as `500ms`, `10s`, `1m`, `1h` or `30d`");
        Misplaced::new(at, reason)
    })?;
    fields.place(join(path, &in_ms), at);
    map.insert(in_ms, ms);
    Ok(())
}

/// The milliseconds of a time such as `90s`.
fn milliseconds(text: &str) -> Option<u64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let (_, ms) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(ms)
}

/// A time with the largest unit in which it is a whole number.
pub(crate) fn written(ms: u64) -> String {
    let (unit, divisor) = UNITS
        .into_iter()
        .rev()
        .find(|(_, divisor)| ms > 0 && ms.is_multiple_of(*divisor))
        .unwrap_or(UNITS[0]);
    format!("{}{unit}", ms / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_written() {
        for (text, ms) in [("1ms", 1), ("90s", 90_000), ("1h", 3_600_000), ("366d", 31_622_400_000)]
        {
            assert_eq!(milliseconds(text), Some(ms));
            assert_eq!(milliseconds(&written(ms)), Some(ms));
        }
        assert_eq!((written(60_000), written(90_000)), ("1m".to_owned(), "90s".to_owned()));
        for wrong in ["", "1", "m", "1 m", "-1s", "1.5s", "1M", "99999999999999999999s"] {
            assert_eq!(milliseconds(wrong), None, "{wrong}");
        }
    }
}
