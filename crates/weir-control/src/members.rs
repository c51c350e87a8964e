//! Members of a tenant.
//!
//! Admins manage all members except owners; owners manage all members. A tenant always has an owner.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::id::UserId;
use weir_http::json::Json;
use weir_http::params::{Path, Query};
use weir_http::problem::Problem;
use weir_store::{MemberRole, MemberRow};
use weir_wire::members::{ChangeMember, Member};
use weir_wire::page::Page;
use weir_wire::problem::ErrorCode;

use crate::actor::{Admin, By, Viewer};
use crate::answers::to_value;
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::input::Input;
use crate::listing::{List, ListQuery};
use crate::state::ControlState;
use crate::tenants;

pub(crate) mod leave;
pub(crate) mod remove;
pub(crate) mod roles;

/// The members of the tenant.
#[utoipa::path(get, path = "/tenants/{tenant}/members", operation_id = "members_list", tag = "members",
    params(("tenant" = String, Path, description = "`tenant_…`"), ListQuery),
    responses((status = 200, description = "The members", body = Page<Member>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Member>>, ControlError> {
    let list = List::new(&["members", &caller.tenant_id.to_string()], query)?;
    let page = list.page(|key: String| key.parse().ok())?;
    let mut tx = control.reading("members.list", &caller).await?;
    let listing = tx.members().list(caller.tenant_id, &page).await?;
    Ok(Json(list.answer(listing, |row| row.user_id.to_string(), member)))
}

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
    let before = touched(&mut change, &user).await?;
    roles::only_owners_touch_owners(change.caller.role, &[before.role, role])?;
    if role < MemberRole::Owner {
        keep_an_owner(&mut change, &before).await?;
    }
    change.tx.members().set_role(change.caller.tenant_id, before.user_id, role).await?;
    let object = Object::new("member", &before.user_id);
    let after = weir_store::MemberRow { role, ..before.clone() };
    let before = member(before);
    let after = member(after);
    change.audit("member.change", object, Some(to_value(&before)?), Some(to_value(&after)?));
    change.answer(StatusCode::OK, &after).await
}

/// A member in JSON.
fn member(row: MemberRow) -> Member {
    Member {
        user_id: row.user_id.to_string(),
        email: row.email,
        name: row.name,
        role: tenants::role(row.role),
        created_at: row.created_at.into(),
        last_seen_at: row.last_seen_at.map(Into::into),
    }
}

/// The member that a change is about.
async fn touched(change: &mut Change, user: &str) -> Result<MemberRow, ControlError> {
    let user_id: UserId = user.parse().map_err(|_| Problem::not_found())?;
    let row = change.tx.members().find(change.caller.tenant_id, user_id).await?;
    Ok(row.ok_or_else(Problem::not_found)?)
}

/// Refuses to remove the last owner. Changes of a tenant wait for each other, so two owners cannot leave at once.
async fn keep_an_owner(change: &mut Change, going: &MemberRow) -> Result<(), ControlError> {
    if going.role == MemberRole::Owner
        && change.tx.members().count_owners(change.caller.tenant_id).await? <= 1
    {
        let detail = "this is the only owner: make someone else an owner first";
        return Err(Problem::new(ErrorCode::Conflict, detail).into());
    }
    Ok(())
}
