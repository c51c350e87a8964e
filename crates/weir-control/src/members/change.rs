//! `PATCH /tenants/{tenant}/members/{user}`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_http::params::Path;
use weir_store::MemberRole;
use weir_wire::members::{ChangeMember, Member};

use crate::actor::{Admin, By};
use crate::answers::to_value;
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Input;
use crate::members::{self, roles};
use crate::state::ControlState;

/// Change the role of a member, from their next request on.
#[utoipa::path(patch, path = "/tenants/{tenant}/members/{user}", operation_id = "members_change", tag = "members",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("user" = String, Path, description = "`user_…`"),
    ),
    request_body = ChangeMember,
    responses(
        (status = 200, description = "Changed", body = Member),
        (status = 409, description = "The tenant would have no owner"),
    ))]
pub(crate) async fn change(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Path((_, user)): Path<(String, String)>,
    Input { body, once }: Input<ChangeMember>,
) -> Result<Response, ControlError> {
    let role = roles::role(body.role);
    let mut change = control.change("members.change", caller, once).await?;
    let before = members::touched(&mut change, &user).await?;
    roles::only_owners_touch_owners(change.caller.role, &[before.role, role])?;
    if role < MemberRole::Owner {
        members::keep_an_owner(&mut change, &before).await?;
    }
    change.tx.members().set_role(change.caller.tenant_id, before.user_id, role).await?;
    let object = Object::new("member", &before.user_id);
    let after = weir_store::MemberRow { role, ..before.clone() };
    let before = members::member(before);
    let after = members::member(after);
    change.audit("member.change", object, Some(to_value(&before)?), Some(to_value(&after)?));
    change.answer(StatusCode::OK, &after).await
}
