//! `DELETE /tenants/{tenant}/members/{user}`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;
use weir_http::params::{Path, Query};
use weir_wire::members::RemovedMember;

use crate::actor::{Admin, By};
use crate::answers::to_value;
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::input::Once;
use crate::members::roles;
use crate::state::ControlState;
use crate::{api_keys, invitations, members};

/// The fate of the member's keys.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RemoveQuery {
    /// Whether to revoke the API keys that the member created; default: false, which only lists them in the answer.
    #[param(default = false)]
    #[serde(default)]
    revoke_keys: bool,
}

/// Remove a member: their open streams end within a second, and their next request about the tenant finds nothing.
///
/// Pending invitations that they created are revoked. API keys that they created belong to the tenant and keep working unless
/// `revoke_keys` is true. The answer lists both; it is 204 if there are none.
#[utoipa::path(delete, path = "/tenants/{tenant}/members/{user}", operation_id = "members_remove", tag = "members",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("user" = String, Path, description = "`user_…`"),
        RemoveQuery,
    ),
    responses(
        (status = 200, description = "Removed; their invitations and keys", body = RemovedMember),
        (status = 204, description = "Removed; they had no invitations or keys"),
        (status = 409, description = "The tenant would have no owner"),
    ))]
pub(crate) async fn remove(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Path((_, user)): Path<(String, String)>,
    Query(query): Query<RemoveQuery>,
) -> Result<Response, ControlError> {
    let mut change = control.change("members.remove", caller, Once::not_stored()).await?;
    let gone = members::touched(&mut change, &user).await?;
    roles::only_owners_touch_owners(change.caller.role, &[gone.role])?;
    members::keep_an_owner(&mut change, &gone).await?;
    let object = Object::new("member", &gone.user_id);
    let user_id = gone.user_id;
    let email = gone.email.clone();
    let before = to_value(&members::member(gone))?;
    // Entries can be appended only for members, and the removed member can be the caller.
    change.audit("member.remove", object, Some(before), None);
    let left = made_by(&mut change, &email, query.revoke_keys).await?;
    change.tx.members().delete(change.caller.tenant_id, user_id).await?;
    if left.keys.is_empty() && left.invitations_revoked.is_empty() {
        return change.done().await;
    }
    change.answer(StatusCode::OK, &left).await
}

/// Revokes the pending invitations that a member created and, on request, the member's keys.
pub(super) async fn made_by(
    change: &mut Change,
    email: &str,
    revoke_keys: bool,
) -> Result<RemovedMember, ControlError> {
    let tenant_id = change.caller.tenant_id;
    let now = change.now;
    let mut invitations_revoked = Vec::new();
    for row in change.tx.invitations().revoke_made_by(tenant_id, email).await? {
        let object = Object::new("invitation", &row.id);
        let invitation = invitations::invitation(row);
        let before = Some(to_value(&invitation)?);
        change.audit("invitation.revoke", object, before, None);
        invitations_revoked.push(invitation);
    }
    let mut keys = Vec::new();
    for row in change.tx.keys().made_by(tenant_id, email, now).await? {
        if revoke_keys {
            change.tx.keys().revoke(tenant_id, row.id, now).await?;
            let object = Object::new("key", &row.id);
            let before = Some(to_value(&api_keys::key(row.clone()))?);
            change.audit("key.delete", object, before, None);
        }
        keys.push(api_keys::key(row));
    }
    Ok(RemovedMember { invitations_revoked, keys_revoked: revoke_keys, keys })
}
