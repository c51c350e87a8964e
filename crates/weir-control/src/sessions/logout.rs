//! `POST /auth/logout`

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use weir_domain::id::{SessionId, UserId};
use weir_store::{Actor, Rotated, Scope, Tx};

use crate::actor::Origin;
use crate::error::ControlError;
use crate::refresh::{RefreshToken, no_cookie};
use crate::sessions;
use crate::sessions::refresh::rotation;
use crate::state::ControlState;

/// End the session of the refresh token in the cookie, and that of the access token in `Authorization`. Access tokens of
/// an ended session are refused at once.
///
/// Without either, or with tokens that no longer work, nothing ends and the answer is the same.
#[utoipa::path(post, path = "/auth/logout", operation_id = "logout", tag = "sessions", security(()),
    responses((status = 204, description = "Signed out")))]
pub(crate) async fn logout(
    State(control): State<ControlState>,
    origin: Origin,
    headers: HeaderMap,
) -> Result<Response, ControlError> {
    if let Some(presented) = RefreshToken::of(&headers, &control.auth.macs) {
        by_cookie(&control, &origin, &presented).await?;
    }
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = bearer.and_then(|text| text.strip_prefix("Bearer "));
    if let Some(bearer) =
        token.and_then(|token| control.auth.tokens.verify(token, control.clock.now()))
    {
        let scope = Scope::User(bearer.user_id);
        let mut tx = control.store.begin("sessions.logout", scope).await?;
        end(&control, &origin, &mut tx, bearer.user_id, bearer.session_id).await?;
        tx.commit().await?;
    }
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, no_cookie())]).into_response())
}

async fn by_cookie(
    control: &ControlState,
    origin: &Origin,
    presented: &RefreshToken,
) -> Result<(), ControlError> {
    let session_id = presented.session_id;
    let next = RefreshToken::new(session_id, &control.random, &control.auth.macs);
    let mut tx = control.store.begin("sessions.logout", Scope::Session(session_id)).await?;
    // A successful rotation proves that the token is or was that of the session.
    let rotated = tx.sessions().rotate(&rotation(control, presented, &next)).await?;
    if let Rotated::Rotated { user_id } | Rotated::Grace { user_id } = rotated {
        tx.enter_user(user_id).await?;
        end(control, origin, &mut tx, user_id, session_id).await?;
    }
    Ok(tx.commit().await?)
}

/// Ends a live session, with an entry in the person's log. A session that has already ended is left unchanged.
async fn end(
    control: &ControlState,
    origin: &Origin,
    tx: &mut Tx,
    user_id: UserId,
    session_id: SessionId,
) -> Result<(), ControlError> {
    if tx.sessions().revoke_of(user_id, session_id, control.clock.now()).await? {
        let email = tx.users().find(user_id).await?.map(|user| user.email);
        let actor = Actor::Person { id: user_id, email: email.unwrap_or_default() };
        tx.audit().append(&sessions::own_audit(control, actor, origin, "user.logout"));
    }
    Ok(())
}
