//! `DELETE /tenants/{tenant}/profiles/{profile}`

use axum::extract::State;
use axum::response::Response;
use weir_domain::id::ProfileId;
use weir_http::params::Path;
use weir_http::problem::Problem;

use crate::actor::{By, Editor, InNamespaces};
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::etag::IfMatch;
use crate::input::Once;
use crate::profiles::admit;
use crate::state::ControlState;

/// Delete a profile. Proxies that use its name get 503.
#[utoipa::path(delete, path = "/tenants/{tenant}/profiles/{profile}", operation_id = "profiles_delete", tag = "profiles",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("profile" = String, Path, description = "`profile_…`"),
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
    let id: ProfileId = id.parse().map_err(|_| Problem::not_found())?;
    let expected = if_match.optional()?;
    let mut change = control.change("profiles.delete", caller, Once::not_stored()).await?;
    delete_stored(&mut change, id, expected).await?;
    change.done().await
}

/// Deletes a profile, if it still has the expected revision, and records it in the audit log.
pub(crate) async fn delete_stored(
    change: &mut Change,
    id: ProfileId,
    expected: Option<u64>,
) -> Result<(), ControlError> {
    let tenant_id = change.caller.tenant_id;
    let row = change.tx.profiles().delete(tenant_id, id, expected).await?;
    let row = row.ok_or_else(Problem::not_found)?;
    admit(&change.caller, &row)?;
    change.audit("profile.delete", Object::new("profile", &id), Some(row.spec), None);
    Ok(())
}
