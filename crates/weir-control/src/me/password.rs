//! `POST /me/password`

use axum::extract::State;
use axum::http::StatusCode;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_wire::sessions::{ChangePassword, Password};

use crate::actor::Person;
use crate::error::ControlError;
use crate::login_throttle;
use crate::login_throttle::Attempt;
use crate::passwords::Passwords;
use crate::sessions;
use crate::state::ControlState;

/// Change my password; all my other sessions end.
#[utoipa::path(post, path = "/me/password", operation_id = "me_password", tag = "me",
    request_body = ChangePassword,
    responses(
        (status = 204, description = "Changed"),
        (status = 429, description = "Too many wrong attempts"),
    ))]
pub(crate) async fn change(
    State(control): State<ControlState>,
    person: Person,
    Json(body): Json<ChangePassword>,
) -> Result<StatusCode, ControlError> {
    Passwords::accept(&body.new_password.0, &person.email)
        .map_err(|why| Problem::invalid_field("new_password", why.to_string()))?;
    verify_current(&control, &person, body.current_password).await?;
    let peer = person.origin.peer;
    let salt = control.random.bytes();
    let hash = control.auth.passwords.hash(body.new_password.0, salt, peer).await?;
    let mut tx = person.begin(&control, "me.password").await?;
    tx.users().set_password(person.user_id, &hash).await?;
    let now = control.clock.now();
    tx.sessions().revoke_all(person.user_id, Some(person.session_id), now).await?;
    let entry = sessions::own_audit(&control, person.actor(), &person.origin, "user.password");
    tx.audit().append(&entry);
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Checks the present password of a signed-in person. Wrong ones are bounded.
pub(super) async fn verify_current(
    control: &ControlState,
    person: &Person,
    password: Password,
) -> Result<(), ControlError> {
    let attempt = Attempt::of_person(person.user_id);
    let throttle = &control.auth.login_throttle;
    let now = control.clock.now();
    throttle.admit(&attempt, now).await.map_err(login_throttle::too_many_attempts)?;
    let mut tx = person.begin(control, "me.password").await?;
    let user = tx.users().find(person.user_id).await?.ok_or_else(Problem::unauthenticated)?;
    drop(tx);
    if user.password_hash == Passwords::NONE {
        throttle.refund(&attempt).await;
        let message =
            "cannot be given: this account has no password; a password reset link sets one";
        return Err(Problem::invalid_field("current_password", message).into());
    }
    let stored = Some(user.password_hash);
    let peer = person.origin.peer;
    let verified = control.auth.passwords.verify(password.0, stored, peer).await;
    if verified != Ok(false) {
        throttle.refund(&attempt).await;
    }
    if verified? {
        return Ok(());
    }
    Err(Problem::invalid_field("current_password", "is not the current password").into())
}
