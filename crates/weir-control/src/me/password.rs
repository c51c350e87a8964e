//! `POST /me/password`

use axum::extract::State;
use axum::http::StatusCode;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::Scope;
use weir_wire::sessions::ChangePassword;

use crate::actor::Person;
use crate::error::ControlError;
use crate::login_floor::Attempt;
use crate::passwords::Passwords;
use crate::sessions;
use crate::sessions::signup::asked_too_often;
use crate::state::ControlState;

/// Change my password; all my other sessions end.
#[utoipa::path(post, path = "/me/password", operation_id = "me_password", tag = "me",
    request_body = ChangePassword,
    responses(
        (status = 204, description = "Changed"),
        (status = 429, description = "Too many wrong tries"),
    ))]
pub(crate) async fn change(
    State(control): State<ControlState>,
    person: Person,
    Json(body): Json<ChangePassword>,
) -> Result<StatusCode, ControlError> {
    Passwords::accept(&body.new_password.0, &person.email)
        .map_err(|why| Problem::invalid_field("new_password", why.to_string()))?;
    let attempt = Attempt::new(&person.email, person.origin.peer);
    control.login_floor.admit(&attempt, control.clock.now()).map_err(asked_too_often)?;
    let mut tx = control.store.begin("me.password", Scope::User(person.user_id)).await?;
    let user = tx.users().find(person.user_id).await?.ok_or_else(Problem::unauthenticated)?;
    drop(tx);
    let stored = Some(user.password_hash);
    if !control.passwords.verify(body.current_password.0, stored).await {
        return Err(Problem::invalid_field("current_password", "is not the present one").into());
    }
    control.login_floor.succeeded(&attempt, control.clock.now());

    let salt = control.random.bytes();
    let hash = control.passwords.hash(body.new_password.0, salt).await;
    let mut tx = control.store.begin("me.password", Scope::User(person.user_id)).await?;
    tx.users().set_password(person.user_id, &hash).await?;
    let now = control.clock.now();
    tx.sessions().revoke_all(person.user_id, Some(person.session_id), now).await?;
    let entry = sessions::own_audit(&control, person.actor(), &person.origin, "user.password");
    tx.audit().append(&entry).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}
