//! `DELETE /tenants/{tenant}/invitations/{invitation}`

use axum::extract::State;
use axum::response::Response;
use weir_domain::id::InvitationId;
use weir_http::params::Path;
use weir_http::problem::Problem;

use crate::actor::{Admin, By};
use crate::answers::to_value;
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Once;
use crate::invitations;
use crate::members::roles;
use crate::state::ControlState;

/// Revoke an invitation: its token is invalid from now on.
#[utoipa::path(delete, path = "/tenants/{tenant}/invitations/{invitation}", operation_id = "invitations_revoke", tag = "members",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("invitation" = String, Path, description = "`invitation_…`"),
    ),
    responses((status = 204, description = "Revoked")))]
pub(crate) async fn revoke(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Path((_, invitation)): Path<(String, String)>,
) -> Result<Response, ControlError> {
    let id: InvitationId = invitation.parse().map_err(|_| Problem::not_found())?;
    let mut change = control.change("invitations.revoke", caller, Once::not_stored()).await?;
    let row = change.tx.invitations().delete(change.caller.tenant_id, id).await?;
    let row = row.ok_or_else(Problem::not_found)?;
    roles::only_owners_touch_owners(change.caller.role, &[row.role])?;
    let before = to_value(&invitations::invitation(row))?;
    change.audit("invitation.revoke", Object::new("invitation", &id), Some(before), None);
    change.done().await
}
