//! `PATCH /me`

use axum::extract::State;
use serde_json::json;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::NewAudit;
use weir_wire::sessions::{UpdateMe, User};

use crate::actor::Person;
use crate::error::ControlError;
use crate::state::ControlState;
use crate::{names, sessions};

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
        ..sessions::own_audit(&control, person.actor(), &person.origin, "user.rename")
    };
    tx.audit().append(&entry);
    tx.commit().await?;
    Ok(Json(sessions::user(user)))
}
