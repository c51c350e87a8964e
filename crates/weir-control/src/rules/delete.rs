//! `DELETE /tenants/{tenant}/rules/{rule}`

use axum::extract::State;
use axum::response::Response;
use weir_domain::id::RuleId;
use weir_http::params::Path;
use weir_http::problem::Problem;

use crate::actor::{By, Editor, InNamespaces};
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::etag::IfMatch;
use crate::input::Once;
use crate::rules::update::find;
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
        (status = 412, description = "Someone else changed this while you were editing"),
    ))]
pub(crate) async fn delete(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Path((_, rule)): Path<(String, String)>,
    if_match: IfMatch,
) -> Result<Response, ControlError> {
    let rule_id: RuleId = rule.parse().map_err(|_| Problem::not_found())?;
    let expected = if_match.optional()?;
    let mut change = control.change("rules.delete", caller, Once::not_stored()).await?;
    find(&mut change, rule_id).await?;
    delete_stored(&mut change, rule_id, expected).await?;
    change.done().await
}

/// Deletes a rule, if it still has the expected revision, and records it in the audit log.
pub(crate) async fn delete_stored(
    change: &mut Change,
    rule_id: RuleId,
    expected: Option<u64>,
) -> Result<(), ControlError> {
    let tenant_id = change.caller.tenant_id;
    let row = change.tx.rules().delete(tenant_id, rule_id, expected).await?;
    let row = row.ok_or_else(Problem::not_found)?;
    change.audit("rule.delete", Object::new("rule", &rule_id), Some(row.spec), None).await
}
