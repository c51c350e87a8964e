//! `DELETE /tenants/{tenant}/overrides/{override}`

use axum::extract::State;
use axum::response::Response;
use weir_domain::id::OverrideId;
use weir_http::params::Path;
use weir_http::problem::Problem;

use crate::actor::{By, Editor, InNamespaces};
use crate::change::Object;
use crate::error::ControlError;
use crate::etag::IfMatch;
use crate::input::Once;
use crate::overrides;
use crate::state::ControlState;

/// Delete an override: the rule's own limits hold again.
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
    let row = change.tx.overrides().delete(tenant_id, override_id, expected).await?;
    let row = row.ok_or_else(Problem::not_found)?;
    let object = Object::new("override", &override_id);
    change.audit("override.delete", object, Some(row.spec), None).await?;
    change.done().await
}
