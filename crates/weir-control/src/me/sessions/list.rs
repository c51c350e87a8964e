//! `GET /me/sessions`

use axum::extract::State;
use weir_http::json::Json;
use weir_wire::page::Page;
use weir_wire::sessions::Session;

use crate::actor::Person;
use crate::error::ControlError;
use crate::me::sessions;
use crate::state::ControlState;

/// My sessions, the latest used first; an account has at most 50.
#[utoipa::path(get, path = "/me/sessions", operation_id = "me_sessions_list", tag = "me",
    responses((status = 200, description = "The sessions that have not ended", body = Page<Session>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    person: Person,
) -> Result<Json<Page<Session>>, ControlError> {
    let mut tx = person.begin(&control, "me.sessions.list").await?;
    let rows = tx.sessions().list(person.user_id, control.clock.now()).await?;
    let data = rows.into_iter().map(|row| sessions::session(row, person.session_id)).collect();
    Ok(Json(Page { data, next_cursor: None }))
}
