//! `DELETE /tenants/{tenant}/members/{user}`

use axum::extract::State;
use axum::response::Response;
use weir_http::params::Path;

use crate::actor::{Admin, By};
use crate::change::{Object, to_value};
use crate::error::ControlError;
use crate::input::Once;
use crate::members;
use crate::state::ControlState;

/// Remove a member; their next request about the tenant finds nothing.
#[utoipa::path(delete, path = "/tenants/{tenant}/members/{user}", operation_id = "members_remove", tag = "members",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("user" = String, Path, description = "`user_…`"),
    ),
    responses(
        (status = 204, description = "Removed"),
        (status = 409, description = "The last owner stays"),
    ))]
pub(crate) async fn remove(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Path((_, user)): Path<(String, String)>,
) -> Result<Response, ControlError> {
    let mut change = control.change("members.remove", caller, Once::unkept()).await?;
    let gone = members::touched(&mut change, &user).await?;
    members::only_owners_touch_owners(change.caller.role, &[gone.role])?;
    members::keep_an_owner(&mut change, &gone).await?;
    let (object, user_id) = (Object::new("member", &gone.user_id), gone.user_id);
    let before = to_value(&members::member(gone))?;
    // An entry can be appended for members only, and this may be the caller.
    change.audit("member.remove", object, Some(before), None).await?;
    change.tx.members().delete(change.caller.tenant_id, user_id).await?;
    change.done().await
}
