//! `DELETE /tenants/{tenant}/overrides/{override}`

use axum::extract::State;
use axum::response::Response;
use weir_domain::id::OverrideId;
use weir_http::params::Path;
use weir_http::problem::Problem;

use crate::actor::{By, Editor, InNamespaces};
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::etag::IfMatch;
use crate::input::Once;
use crate::overrides;
use crate::state::ControlState;

/// Delete an override: the rule's own limits apply again.
#[utoipa::path(delete, path = "/tenants/{tenant}/overrides/{override}", operation_id = "overrides_delete", tag = "overrides",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("override" = String, Path, description = "`override_…`"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` last read; without it any revision is deleted"),
    ),
    responses(
        (status = 204, description = "Deleted"),
        (status = 412, description = "Someone else changed this while you were editing"),
    ))]
pub(crate) async fn delete(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Path((_, id)): Path<(String, String)>,
    if_match: IfMatch,
) -> Result<Response, ControlError> {
    let override_id: OverrideId = id.parse().map_err(|_| Problem::not_found())?;
    let expected = if_match.optional()?;
    let mut change = control.change("overrides.delete", caller, Once::not_stored()).await?;
    let tenant_id = change.caller.tenant_id;
    if let Some(row) = change.tx.overrides().find(tenant_id, override_id).await? {
        overrides::admit(&mut change.tx, &change.caller, &row).await?;
    }
    delete_stored(&mut change, override_id, expected).await?;
    change.done().await
}

/// Deletes an override, if it still has the expected revision, and records it in the audit log.
pub(crate) async fn delete_stored(
    change: &mut Change,
    id: OverrideId,
    expected: Option<u64>,
) -> Result<(), ControlError> {
    let row = change.tx.overrides().delete(change.caller.tenant_id, id, expected).await?;
    let row = row.ok_or_else(Problem::not_found)?;
    change.audit("override.delete", Object::new("override", &id), Some(row.spec), None);
    Ok(())
}
