//! The differences between two JSON values in words, field by field.

use serde_json::Value;
use weir_wire::changes::{FieldChange, changes};

use super::words::arrow;

/// Fields that differ after every change.
const STAMPS: [&str; 4] = ["revision", "rulebook_version", "updated_at", "created_at"];

/// The fields that differ, by path: `name A → B`. Missing, null and empty values are equal.
pub(super) fn differences(before: &Value, after: &Value) -> Vec<String> {
    let changed = changes(Some(before), Some(after));
    let changed = changed.into_iter().filter(|change| !STAMPS.contains(&change.field.as_str()));
    let text = |side: Option<String>| side.unwrap_or_else(|| "none".to_owned());
    let in_words =
        |FieldChange { field, before, after }| arrow(&field, &text(before), &text(after));
    changed.map(in_words).collect()
}
