//! `GET /me`

use axum::extract::State;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::Page;
use weir_wire::sessions::{Me, Membership};

use crate::actor::Person;
use crate::error::ControlError;
use crate::state::ControlState;
use crate::{sessions, tenants};

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
    Ok(Json(Me { user: sessions::user(user), memberships }))
}
