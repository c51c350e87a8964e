//! `DELETE /tenants/{tenant}/rules/{rule}`

use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};
use weir_domain::id::{AlertId, RuleId};
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_store::{Listing, OverrideFilter, OverrideRow, Page, RuleSpec};

use crate::actor::{By, Editor, InNamespaces};
use crate::change::Change;
use crate::error::ControlError;
use crate::etag::IfMatch;
use crate::input::Once;
use crate::plans;
use crate::specs;
use crate::state::ControlState;

/// Delete a rule with its overrides and revisions.
#[utoipa::path(delete, path = "/tenants/{tenant}/rules/{rule}", operation_id = "rules_delete", tag = "rules",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("rule" = String, Path, description = "`rule_…`"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` last read; without it any revision is deleted"),
    ),
    responses(
        (status = 204, description = "Deleted"),
        (status = 409, description = "A plan names the rule"),
        (status = 412, description = "Someone else changed this while you were editing"),
    ))]
pub(crate) async fn delete(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Path((_, rule)): Path<(String, String)>,
    if_match: IfMatch,
) -> Result<Response, ControlError> {
    let rule_id = specs::parsed(&rule)?;
    let expected = if_match.optional()?;
    let mut change = control.change("rules.delete", caller, Once::not_stored()).await?;
    specs::find::<RuleSpec>(&mut change.tx, &change.caller, rule_id).await?;
    drop(delete_stored(&mut change, rule_id, expected).await?);
    change.done().await
}

/// The overrides that are deleted with a rule.
pub(crate) struct DeletedOverrides {
    /// Their number.
    pub(crate) count: u64,
    /// The oldest ones.
    pub(crate) first: Vec<OverrideRow>,
}

/// Deletes a rule, if it still has the expected revision, and records it in the audit log with its overrides and alerts.
pub(crate) async fn delete_stored(
    change: &mut Change,
    rule_id: RuleId,
    expected: Option<u64>,
) -> Result<DeletedOverrides, ControlError> {
    let tenant_id = change.caller.tenant_id;
    let page = Page { limit: DELETED_OVERRIDES_MAX, after: None };
    let filter = OverrideFilter::of_rule(rule_id);
    let Listing { items: first, more } =
        change.tx.overrides().list(tenant_id, &filter, &page).await?;
    let count = if more {
        change.tx.overrides().count_of_rule(tenant_id, rule_id).await?
    } else {
        u64::try_from(first.len()).unwrap_or(u64::MAX)
    };
    if let Some(row) = change.tx.rules().find(tenant_id, rule_id).await? {
        plans::admit_edit(change, (&row.namespace, &row.name), None).await?;
    }
    let alerts = change.tx.alerts().of_rule(tenant_id, rule_id).await?;
    let row = change.tx.rules().delete(tenant_id, rule_id, expected).await?;
    let mut before = row.ok_or_else(Problem::not_found)?.spec;
    if let (true, Some(fields)) = (count > 0, before.as_object_mut()) {
        let shown = |row: &OverrideRow| json!({ "id": row.id.to_string(), "override": row.spec });
        let first: Vec<Value> = first.iter().map(shown).collect();
        let deleted = json!({ "count": count, "first": first });
        fields.insert("deleted_overrides".to_owned(), deleted);
    }
    if let (false, Some(fields)) = (alerts.is_empty(), before.as_object_mut()) {
        let shown = |(id, name): &(AlertId, String)| json!({ "id": id.to_string(), "name": name });
        let deleted: Vec<Value> = alerts.iter().map(shown).collect();
        fields.insert("deleted_alerts".to_owned(), Value::from(deleted));
    }
    specs::record::<RuleSpec>(change, "delete", rule_id, Some(before), None);
    Ok(DeletedOverrides { count, first })
}

/// The most overrides of a deleted rule that the audit entry and a plan hold, beside their number.
pub(crate) const DELETED_OVERRIDES_MAX: u32 = 100;
