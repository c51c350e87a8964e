//! `POST /auth/password-reset/confirm`

use axum::extract::State;
use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::{Actor, Scope};
use weir_wire::problem::ErrorCode;
use weir_wire::second_factors::{ResetPassword, ResetToken};

use crate::actor::Origin;
use crate::error::ControlError;
use crate::login_throttle;
use crate::login_throttle::Attempt;
use crate::passwords::Passwords;
use crate::sessions;
use crate::state::{ControlState, Random};

/// The lifetime of a token: one hour.
pub(crate) const TOKEN_S: u32 = 60 * 60;

/// Set a new password with a token. All sessions of the account end. A second factor stays required.
#[utoipa::path(post, path = "/auth/password-reset/confirm", operation_id = "password_reset_confirm", tag = "sessions", security(()),
    request_body = ResetPassword,
    responses(
        (status = 204, description = "Set; sign in with the new password"),
        (status = 404, description = "The token is unknown or has expired"),
        (status = 429, description = "Too many unknown tokens from this network"),
    ))]
pub(crate) async fn reset(
    State(control): State<ControlState>,
    origin: Origin,
    Json(body): Json<ResetPassword>,
) -> Result<StatusCode, ControlError> {
    let attempt = Attempt::token(origin.peer);
    let throttle = &control.auth.login_throttle;
    let now = control.clock.now();
    throttle.admit(&attempt, now).await.map_err(login_throttle::too_many_attempts)?;
    let digest = reset_digest(&body.token);
    let mut tx = control.store.begin("password_resets.presented", Scope::Service).await?;
    tx.enter_password_reset(&digest).await?;
    let user_id = tx.password_resets().presented(&digest, now).await?.ok_or_else(gone)?;
    tx.enter_user(user_id).await?;
    let user = tx.users().find(user_id).await?.ok_or_else(gone)?;
    drop(tx);
    throttle.refund(&attempt).await;
    Passwords::accept(&body.new_password.0, &user.email)
        .map_err(|reason| Problem::invalid_field("new_password", reason.to_string()))?;
    let salt = control.random.bytes();
    let hash = control.auth.passwords.hash(body.new_password.0, salt, origin.peer).await?;

    let mut tx = control.store.begin("password_resets.spend", Scope::User(user_id)).await?;
    tx.enter_password_reset(&digest).await?;
    let now = control.clock.now();
    // A change of the password locks the account, and then ends its reset.
    tx.users().lock(user_id).await?;
    tx.password_resets().spend(&digest, now).await?.ok_or_else(gone)?;
    tx.users().set_password(user_id, &hash).await?;
    tx.sessions().revoke_all(user_id, None, now).await?;
    let actor = Actor::Person { id: user_id, email: user.email };
    let entry = sessions::own_audit(&control, actor, &origin, "user.password_reset");
    tx.audit().append(&entry);
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A new token.
pub(crate) fn new_token(random: &Random) -> ResetToken {
    ResetToken(format!("reset_{}", URL_SAFE_NO_PAD.encode(random.bytes::<32>())))
}

/// The digest under which a token is stored.
pub fn reset_digest(token: &ResetToken) -> [u8; 32] {
    Sha256::digest(token.0.as_bytes()).into()
}

fn gone() -> Problem {
    let detail = "there is no such password reset: it was used or replaced, or has expired";
    Problem::new(ErrorCode::NotFound, detail)
}
