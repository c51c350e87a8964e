//! Sign-ups that wait for confirmation. A client without credentials requests one, an e-mail or `weir user confirm` issues its
//! token, and the token is spent once.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use weir_domain::email::EmailAddress;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::{NewSignup, Scope, SignupRow, Tx};
use weir_wire::problem::ErrorCode;
use weir_wire::sessions::{PendingSignUp, SignUpToken};

use super::mail_signup::mail_later;
use super::signup_token::signup_digest;
use crate::actor::Origin;
use crate::error::ControlError;
use crate::login_throttle;
use crate::login_throttle::Attempt;
use crate::state::ControlState;

/// The time for which a sign-up can be confirmed, in seconds.
const PENDING_S: u32 = 24 * 60 * 60;
/// The most pending sign-ups of the installation.
const PENDING_MAX: u32 = 10_000;
/// The time after which a request beyond [`PENDING_MAX`] can be retried, in seconds.
const FULL_RETRY_S: u32 = 3600;

/// Stores a pending sign-up. It does not read accounts, so neither the answer nor its time depends on whether the address has
/// one. Each request is charged to its network alone, and never refunded.
pub(super) async fn request(
    control: &ControlState,
    origin: &Origin,
    email: &EmailAddress,
    tenant_name: &str,
) -> Result<Response, ControlError> {
    let now = control.clock.now();
    let attempt = Attempt::sign_up(origin.peer);
    control
        .auth
        .login_throttle
        .admit(&attempt, now)
        .await
        .map_err(login_throttle::too_many_attempts)?;
    let new = NewSignup {
        email: email.as_str().to_owned(),
        tenant_name: tenant_name.to_owned(),
        now,
        expires_at: now.plus_ms(i64::from(PENDING_S) * 1000),
    };
    let mut tx = control.store.begin("signups.request", Scope::Service).await?;
    if !tx.signups().request(&new, PENDING_MAX).await? {
        return Err(login_throttle::too_many_attempts(FULL_RETRY_S).into());
    }
    tx.commit().await?;
    let body = PendingSignUp { email: new.email.clone(), expires_in_s: PENDING_S.into() };
    mail_later(control, email, new);
    Ok((StatusCode::ACCEPTED, Json(body)).into_response())
}

/// The sign-up of a token.
pub(super) async fn presented(
    control: &ControlState,
    token: &SignUpToken,
) -> Result<SignupRow, ControlError> {
    let mut tx = control.store.begin("signups.presented", Scope::Service).await?;
    let digest = signup_digest(&token.0);
    tx.enter_signup(&digest).await?;
    let found = tx.signups().presented(&digest, control.clock.now()).await?;
    Ok(found.ok_or_else(gone)?)
}

/// Spends a token. If two requests present it at once, one of them fails.
pub(super) async fn spend(
    control: &ControlState,
    tx: &mut Tx,
    token: &SignUpToken,
) -> Result<SignupRow, ControlError> {
    let digest = signup_digest(&token.0);
    tx.enter_signup(&digest).await?;
    let spent = tx.signups().spend(&digest, control.clock.now()).await?;
    Ok(spent.ok_or_else(gone)?)
}

fn gone() -> Problem {
    let detail = "there is no such sign-up: it was confirmed or replaced, or has expired";
    Problem::new(ErrorCode::NotFound, detail)
}
