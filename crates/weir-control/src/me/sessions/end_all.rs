//! `DELETE /me/sessions`

use axum::extract::State;
use axum::http::StatusCode;
use serde_json::json;
use weir_store::NewAudit;

use crate::actor::Person;
use crate::error::ControlError;
use crate::sessions;
use crate::state::ControlState;

/// End all my sessions, this one included: sign out everywhere.
#[utoipa::path(delete, path = "/me/sessions", operation_id = "me_sessions_end_all", tag = "me",
    responses((status = 204, description = "Ended")))]
pub(crate) async fn end_all(
    State(control): State<ControlState>,
    person: Person,
) -> Result<StatusCode, ControlError> {
    let mut tx = person.begin(&control, "me.sessions.end_all").await?;
    let ended = tx.sessions().revoke_all(person.user_id, None, control.clock.now()).await?;
    let own = sessions::own_audit(&control, person.actor(), &person.origin, "user.sessions_end");
    tx.audit().append(&NewAudit { after: Some(json!({ "ended": ended })), ..own });
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}
