//! `DELETE /me/sessions/{session}`

use axum::extract::State;
use axum::http::StatusCode;
use weir_domain::id::SessionId;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_store::NewAudit;

use crate::actor::Person;
use crate::error::ControlError;
use crate::sessions;
use crate::state::ControlState;

/// End one of my sessions: its access tokens are refused at once, and it cannot be refreshed.
#[utoipa::path(delete, path = "/me/sessions/{session}", operation_id = "me_sessions_end", tag = "me",
    params(("session" = String, Path, description = "`session_…`")),
    responses((status = 204, description = "Ended")))]
pub(crate) async fn end(
    State(control): State<ControlState>,
    person: Person,
    Path(session): Path<String>,
) -> Result<StatusCode, ControlError> {
    let id: SessionId = session.parse().map_err(|_| Problem::not_found())?;
    let mut tx = person.begin(&control, "me.sessions.end").await?;
    if !tx.sessions().revoke_of(person.user_id, id, control.clock.now()).await? {
        return Err(Problem::not_found().into());
    }
    let own = sessions::own_audit(&control, person.actor(), &person.origin, "user.session_end");
    let entry = NewAudit { object_kind: "session".to_owned(), object_id: id.to_string(), ..own };
    tx.audit().append(&entry);
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}
