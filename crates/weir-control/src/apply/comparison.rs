//! The effect of an apply on a stored object that the request names. It is the same for objects of all kinds.

use std::collections::HashMap;
use std::hash::Hash;

use serde_json::Value;
use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_wire::apply::{ApplyBody, FieldChange, ObjectName, UpdatedObject};
use weir_wire::problem::FieldProblem;

/// An object in place of a stored one.
pub(super) struct Update<B, A> {
    /// The position in the request.
    pub(super) at: usize,
    pub(super) before: B,
    pub(super) after: A,
    /// The change in the answer.
    pub(super) shown: UpdatedObject,
}

/// The effect of an apply on a stored object.
pub(super) enum Comparison {
    /// The object is as wanted.
    Unchanged,
    /// The object is replaced.
    Changed {
        /// Whether the object did not belong to the set.
        adopted: bool,
    },
}

/// Compares a stored object of this owner with the request. `same` says whether its content is as wanted. An object of another
/// owner is refused unless it is adopted; the reason follows the name of the object's kind.
pub(super) fn compare(
    managed_by: Option<&String>,
    same: bool,
    body: &ApplyBody,
) -> Result<Comparison, String> {
    let owned = managed_by == Some(&body.set);
    if same && (owned || managed_by.is_none() && !body.adopt) {
        return Ok(Comparison::Unchanged);
    }
    if owned || body.adopt {
        return Ok(Comparison::Changed { adopted: !owned });
    }
    let owner = managed_by.map_or("no set".to_owned(), |set| format!("the set `{set}`"));
    Err(format!("of {owner}; it is changed only with `adopt`"))
}

/// A change in the answer. `changed_at` is the time of the change before it.
pub(super) fn updated(
    object: ObjectName,
    id: &impl ToString,
    adopted: bool,
    changes: Vec<FieldChange>,
    changed_at: Timestamp,
) -> UpdatedObject {
    let ObjectName { kind, namespace, name } = object;
    UpdatedObject {
        kind,
        id: id.to_string(),
        namespace,
        name,
        changes,
        adopted,
        last_changed_by: None,
        last_changed_at: changed_at.into(),
    }
}

/// The problems of the objects of a list whose key an earlier one has. `field` is that of the key, which is `what`.
pub(super) fn repeated<K: Hash + Eq>(
    list: &str,
    field: &str,
    what: &str,
    keys: impl Iterator<Item = K>,
) -> Vec<FieldProblem> {
    let mut seen = HashMap::new();
    let mut wrong = Vec::new();
    for (at, key) in keys.enumerate() {
        if let Some(first) = seen.insert(key, at) {
            let reason = format!("is the {what} of {list}[{first}] too");
            wrong.push(FieldProblem::new(format!("{list}[{at}].{field}"), reason));
        }
    }
    wrong
}

/// Refuses a list of the request with more than `most` objects, or with problems.
pub(super) fn refuse_wrong(
    list: &str,
    count: usize,
    most: usize,
    wrong: impl FnOnce() -> Vec<FieldProblem>,
) -> Result<(), Problem> {
    if count > most {
        return Err(Problem::invalid_field(list, format!("must hold at most {most} {list}")));
    }
    let wrong = wrong();
    if wrong.is_empty() { Ok(()) } else { Err(Problem::invalid(wrong)) }
}

/// The fields that differ, in the order of the new body. A field that only the stored object has becomes null.
pub(super) fn differences(before: &Value, after: &Value) -> Vec<FieldChange> {
    let fields = after.as_object().into_iter().flatten();
    let removed = before.as_object().into_iter().flatten();
    let removed = removed.filter(|(field, _)| after.get(field).is_none());
    let pair = |side: &Value, field: &String| side.get(field).cloned().unwrap_or(Value::Null);
    fields
        .chain(removed)
        .filter(|(field, _)| before.get(field) != after.get(field))
        .map(|(field, _)| FieldChange {
            field: field.clone(),
            before: pair(before, field),
            after: pair(after, field),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_of_other_owners_are_changed_only_if_adopted() {
        let step = |owner: Option<&str>, same, adopt| {
            let body = json!({ "set": "shop", "adopt": adopt });
            let body: ApplyBody = serde_json::from_value(body).expect("a request");
            match compare(owner.map(str::to_owned).as_ref(), same, &body) {
                Ok(Comparison::Unchanged) => "unchanged".to_owned(),
                Ok(Comparison::Changed { adopted }) => format!("changed, adopted: {adopted}"),
                Err(reason) => reason,
            }
        };
        let refused = |owner| format!("of {owner}; it is changed only with `adopt`");
        let (of_set, of_other) = (Some("shop"), Some("other"));
        for adopt in [false, true] {
            assert_eq!(step(of_set, true, adopt), "unchanged");
            assert_eq!(step(of_set, false, adopt), "changed, adopted: false");
        }
        // An object that people made is left alone if it is as wanted, and an object of another set is not.
        assert_eq!(step(None, true, false), "unchanged");
        assert_eq!(step(None, false, false), refused("no set"));
        for same in [true, false] {
            assert_eq!(step(of_other, same, false), refused("the set `other`"));
            assert_eq!(step(None, same, true), "changed, adopted: true");
            assert_eq!(step(of_other, same, true), "changed, adopted: true");
        }
    }
}
