//! The overrides that were deleted with a rule, in the audit entry of its deletion.

use serde_json::Value;
use weir_wire::audit::AuditEntry;
use weir_wire::overrides::OverrideBody;

use crate::model::json;
use crate::model::number::quantity;

/// The overrides that were deleted with a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedOverrides {
    pub count: usize,
    /// The first ones.
    pub first: Vec<OverrideBody>,
}

impl DeletedOverrides {
    /// `None` if the entry is no deletion of a rule with overrides.
    pub fn of(entry: &AuditEntry) -> Option<Self> {
        let deleted = entry.before.as_ref()?.get(FIELD)?;
        let first = deleted.get("first")?.as_array()?.iter();
        let first = first.filter_map(|one| json::read_value(one.get("override")?).ok());
        let count = usize::try_from(deleted.get("count")?.as_u64()?).ok()?;
        Some(Self { count, first: first.collect() })
    }

    /// `12 overrides`.
    pub fn text(&self) -> String {
        quantity(self.count, "override", "overrides")
    }

    /// The number of those that the entry does not hold.
    pub fn more(&self) -> usize {
        self.count.saturating_sub(self.first.len())
    }
}

/// The object before the change, without the overrides that were deleted with it.
pub fn object_before(entry: &AuditEntry) -> Option<Value> {
    let mut before = entry.before.clone()?;
    if let Some(fields) = before.as_object_mut() {
        fields.remove(FIELD);
    }
    Some(before)
}

const FIELD: &str = "deleted_overrides";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deletion(before: &Value) -> AuditEntry {
        serde_json::from_value(json!({
            "id": "audit_1", "tenant_id": null, "seq": 1, "at": "2026-11-21T03:00:00Z",
            "actor": {"kind": "person", "id": "user_1", "name": "ada@example.com"},
            "action": "rule.delete", "object_kind": "rule", "object_id": "rule_1",
            "before": before, "after": null, "ip": null, "request_id": "req_1"
        }))
        .expect("an entry")
    }

    #[test]
    fn deletion_of_a_rule_holds_its_first_overrides_beside_the_rule() {
        let body = json!({ "rule_id": "rule_1", "subject": { "user": "u-1" }, "action": "deny" });
        let first = json!([{ "id": "override_1", "override": body }]);
        let before =
            json!({ "name": "login", "deleted_overrides": { "count": 3, "first": first } });
        let entry = deletion(&before);
        let found = DeletedOverrides::of(&entry).expect("overrides");
        assert_eq!((found.text().as_str(), found.more()), ("3 overrides", 2));
        assert_eq!(found.first[0].subject["user"], "u-1");
        assert_eq!(object_before(&entry), Some(json!({ "name": "login" })));
        assert_eq!(DeletedOverrides::of(&deletion(&json!({ "name": "login" }))), None);
    }
}
