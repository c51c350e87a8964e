//! The signed-in person.

use axum::extract::State;
use serde_json::json;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::{NewAudit, Page};
use weir_wire::sessions::{Me, Membership, UpdateMe, User};

use crate::actor::Person;
use crate::error::ControlError;
use crate::state::ControlState;
use crate::{names, tenants};

pub(crate) mod password;
pub(crate) mod second_factor;
pub(crate) mod sessions;

const MEMBERSHIPS_MAX: u32 = 200;

/// The signed-in person, and the tenants they are a member of.
#[utoipa::path(get, path = "/me", operation_id = "me_read", tag = "me",
    responses((status = 200, description = "The person who is signed in", body = Me)))]
pub(crate) async fn read(
    State(control): State<ControlState>,
    person: Person,
) -> Result<Json<Me>, ControlError> {
    let mut tx = person.begin(&control, "me.read").await?;
    let user = tx.users().find(person.user_id).await?.ok_or_else(Problem::unauthenticated)?;
    let page = Page { limit: MEMBERSHIPS_MAX, after: None };
    let mine = tx.tenants().mine(person.user_id, &page).await?;
    let membership = |mine: weir_store::MyTenant| Membership {
        tenant_id: mine.tenant.id.to_string(),
        tenant_name: mine.tenant.name,
        role: tenants::role(mine.role),
        suspended: mine.tenant.suspended,
        enforcement: mine.tenant.enforced.into(),
        installation_enforcement: mine.tenant.installation_enforced.into(),
    };
    let memberships = mine.items.into_iter().map(membership).collect();
    Ok(Json(Me { user: crate::sessions::user(user), memberships }))
}

/// Change the name of the signed-in person.
#[utoipa::path(patch, path = "/me", operation_id = "me_rename", tag = "me",
    request_body = UpdateMe,
    responses((status = 200, description = "Renamed", body = User)))]
pub(crate) async fn rename(
    State(control): State<ControlState>,
    person: Person,
    Json(body): Json<UpdateMe>,
) -> Result<Json<User>, ControlError> {
    names::name("name", &body.name)?;
    let mut tx = person.begin(&control, "me.rename").await?;
    let before = tx.users().find(person.user_id).await?.ok_or_else(Problem::unauthenticated)?;
    tx.users().rename(person.user_id, &body.name).await?;
    let user = weir_store::UserRow { name: body.name, ..before.clone() };
    let entry = NewAudit {
        before: Some(json!({ "name": before.name })),
        after: Some(json!({ "name": user.name })),
        ..crate::sessions::own_audit(&control, person.actor(), &person.origin, "user.rename")
    };
    tx.audit().append(&entry);
    tx.commit().await?;
    Ok(Json(crate::sessions::user(user)))
}
