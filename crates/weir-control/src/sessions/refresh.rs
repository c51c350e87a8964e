//! `POST /auth/refresh`

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use weir_domain::id::{SessionId, UserId};
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::{Actor, Rotated, Rotation, Scope, Tx};
use weir_wire::sessions::LoggedIn;

use crate::actor::Origin;
use crate::error::ControlError;
use crate::refresh::{RefreshToken, no_cookie, session_end};
use crate::sessions;
use crate::state::ControlState;
use crate::tokens::LIFETIME_S;

/// Get a new access token for the refresh token in the cookie, which is replaced.
///
/// A refresh token can be used once. For ten seconds the one before also gets an access token, for tabs that refresh at once;
/// after that, using it again ends the session.
#[utoipa::path(post, path = "/auth/refresh", operation_id = "refresh", tag = "sessions", security(()),
    responses(
        (status = 200, description = "Signed in for another ten minutes", body = LoggedIn),
        (status = 401, description = "No refresh token, or an invalid one"),
    ))]
pub(crate) async fn refresh(
    State(control): State<ControlState>,
    origin: Origin,
    headers: HeaderMap,
) -> Result<Response, ControlError> {
    let Some(presented) = RefreshToken::of(&headers, &control.auth.macs) else {
        return Ok(refused());
    };
    let session_id = presented.session_id;
    let next = RefreshToken::new(session_id, &control.random, &control.auth.macs);
    let mut tx = control.store.begin("sessions.refresh", Scope::Session(session_id)).await?;
    match tx.sessions().rotate(&rotation(&control, &presented, &next)).await? {
        Rotated::Rotated { user_id } => {
            let body = signed_in(&control, &mut tx, user_id, session_id).await?;
            tx.commit().await?;
            Ok(sessions::with_cookie(&control, StatusCode::OK, &next, body))
        }
        Rotated::Grace { user_id } => {
            let body = signed_in(&control, &mut tx, user_id, session_id).await?;
            Ok((StatusCode::OK, Json(body)).into_response())
        }
        Rotated::Reused { user_id } => {
            tx.enter_user(user_id).await?;
            let email = tx.users().find(user_id).await?.map(|user| user.email);
            let actor = Actor::Person { id: user_id, email: email.unwrap_or_default() };
            let entry = sessions::own_audit(&control, actor, &origin, "user.refresh_reused");
            tx.audit().append(&entry);
            tx.commit().await?;
            Ok(refused())
        }
        Rotated::Unknown => Ok(refused()),
    }
}

/// The rotation of the presented token.
pub(crate) fn rotation(
    control: &ControlState,
    presented: &RefreshToken,
    next: &RefreshToken,
) -> Rotation {
    let now = control.clock.now();
    Rotation {
        id: presented.session_id,
        presented: presented.digest(),
        next: next.digest(),
        now,
        grace_ms: control.settings.refresh_grace_ms,
        expires_at: session_end(&control.settings, presented.session_id, now),
    }
}

async fn signed_in(
    control: &ControlState,
    tx: &mut Tx,
    user_id: UserId,
    session_id: SessionId,
) -> Result<LoggedIn, ControlError> {
    tx.enter_user(user_id).await?;
    let user = tx.users().find(user_id).await?.filter(|user| !user.disabled);
    let user = user.ok_or_else(Problem::unauthenticated)?;
    Ok(LoggedIn {
        access_token: sessions::access_token(control, user_id, session_id),
        token_type: "Bearer".to_owned(),
        expires_in_s: LIFETIME_S,
        user: sessions::user(user),
    })
}

fn refused() -> Response {
    let mut response = Problem::unauthenticated().into_response();
    response.headers_mut().insert(header::SET_COOKIE, no_cookie());
    response
}
