//! `POST /auth/logout`

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use weir_store::{Actor, Rotated, Scope};

use crate::actor::Origin;
use crate::error::ControlError;
use crate::refresh::{RefreshToken, no_cookie};
use crate::sessions;
use crate::sessions::refresh::rotation;
use crate::state::ControlState;

/// End the session of the refresh token in the cookie; its access tokens end with it, at once.
///
/// Without a cookie, or with one that is no longer good, there is nothing to end and the answer is the same.
#[utoipa::path(post, path = "/auth/logout", operation_id = "logout", tag = "sessions", security(()),
    responses((status = 204, description = "Signed out")))]
pub(crate) async fn logout(
    State(control): State<ControlState>,
    origin: Origin,
    headers: HeaderMap,
) -> Result<Response, ControlError> {
    if let Some(presented) = RefreshToken::of(&headers) {
        let session_id = presented.session_id;
        let next = RefreshToken::new(session_id, &control.random);
        let mut tx = control.store.begin("sessions.logout", Scope::Session(session_id)).await?;
        // Rotating proves that the token is, or was, the session's.
        let rotated = tx.sessions().rotate(&rotation(&control, &presented, &next)).await?;
        if let Rotated::Rotated { user_id } | Rotated::Grace { user_id } = rotated {
            tx.sessions().revoke(session_id, control.clock.now()).await?;
            tx.enter_user(user_id).await?;
            let email = tx.users().find(user_id).await?.map(|user| user.email);
            let actor = Actor::Person { id: user_id, email: email.unwrap_or_default() };
            tx.audit()
                .append(&sessions::own_audit(&control, actor, &origin, "user.logout"))
                .await?;
        }
        tx.commit().await?;
    }
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, no_cookie())]).into_response())
}
