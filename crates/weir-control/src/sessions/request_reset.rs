//! `POST /auth/password-reset`

use axum::extract::State;
use axum::http::StatusCode;
use serde_json::json;
use weir_domain::email::EmailAddress;
use weir_http::json::Json;
use weir_store::{Actor, NewAudit, Scope, StoreError};
use weir_wire::second_factors::RequestReset;

use super::reset_password::{TOKEN_S, new_token, reset_digest};
use crate::actor::Origin;
use crate::error::ControlError;
use crate::login_throttle::Attempt;
use crate::state::ControlState;
use crate::{login_throttle, names, sessions};

/// Request a link for a new password by e-mail.
///
/// The answer and its time are the same for every address. A message is sent if the installation sends e-mail
/// (`password_reset` of `GET /auth/options`) and the address has an account that is not disabled; at most five per hour.
#[utoipa::path(post, path = "/auth/password-reset", operation_id = "password_reset", tag = "sessions", security(()),
    request_body = RequestReset,
    responses(
        (status = 202, description = "Accepted, whether or not the address has an account"),
        (status = 429, description = "Too many requests from this network"),
    ))]
pub(crate) async fn request(
    State(control): State<ControlState>,
    origin: Origin,
    Json(body): Json<RequestReset>,
) -> Result<StatusCode, ControlError> {
    let email = names::email(&body.email)?;
    let attempt = Attempt::reset_request(origin.peer);
    let throttle = &control.auth.login_throttle;
    let now = control.clock.now();
    throttle.admit(&attempt, now).await.map_err(login_throttle::too_many_attempts)?;
    if control.mail.is_some() {
        let worker = control.clone();
        let started = control.local.mailed_resets.run(async move {
            if let Err(error) = mail_token(&worker, &origin, &email).await {
                tracing::warn!(%error, "could not store a password reset");
            }
        });
        if !started {
            tracing::warn!("did not send a password reset: too many are in progress");
        }
    }
    Ok(StatusCode::ACCEPTED)
}

/// Stores a token for the account of the address, if there is one, and sends it.
async fn mail_token(
    control: &ControlState,
    origin: &Origin,
    email: &EmailAddress,
) -> Result<(), StoreError> {
    let Some(mail) = &control.mail else { return Ok(()) };
    let now = control.clock.now();
    let attempt = Attempt::reset_mail(email);
    if control.auth.login_throttle.admit(&attempt, now).await.is_err() {
        return Ok(());
    }
    let token = new_token(&control.random);
    let digest = reset_digest(&token);
    let expires_at = now.plus_ms(i64::from(TOKEN_S) * 1000);
    let mut tx = control.store.begin("password_resets.request", Scope::Service).await?;
    let found = tx.password_resets().request(email.as_str(), &digest, expires_at).await?;
    let Some(user_id) = found else { return Ok(()) };
    tx.enter_user(user_id).await?;
    let entry = NewAudit {
        object_id: user_id.to_string(),
        after: Some(json!({ "email": email.as_str() })),
        ..sessions::own_audit(control, Actor::Anonymous, origin, "user.password_reset_request")
    };
    tx.audit().append_about(user_id, &entry);
    tx.commit().await?;
    mail.mailer.send(mail.password_reset(email.as_str(), &token, now, user_id));
    Ok(())
}
