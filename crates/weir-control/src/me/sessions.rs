//! The sessions of the signed-in person.

use axum::extract::State;
use axum::http::StatusCode;
use serde_json::json;
use weir_domain::id::SessionId;
use weir_http::json::Json;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_store::{NewAudit, SessionRow};
use weir_wire::page::Page;
use weir_wire::sessions::Session;

use crate::actor::Person;
use crate::error::ControlError;
use crate::sessions;
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
    let data = rows.into_iter().map(|row| session(row, person.session_id)).collect();
    Ok(Json(Page { data, next_cursor: None }))
}

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

/// A session in JSON; `current` is the session of the request.
fn session(row: SessionRow, current: SessionId) -> Session {
    Session {
        id: row.id.to_string(),
        current: row.id == current,
        user_agent: row.user_agent,
        network: row.network,
        created_at: row.created_at.into(),
        refreshed_at: row.refreshed_at.into(),
        expires_at: row.expires_at.into(),
    }
}
