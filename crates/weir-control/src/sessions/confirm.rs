//! `POST /auth/signup/confirm`

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use weir_domain::email::EmailAddress;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_wire::sessions::{ConfirmSignUp, SignedUp};

use super::new_account::{NewAccount, Route};
use super::pending;
use crate::actor::Origin;
use crate::error::ControlError;
use crate::login_throttle;
use crate::login_throttle::Attempt;
use crate::passwords::Passwords;
use crate::state::ControlState;

/// Finish a sign-up with the token that was sent to its address.
///
/// The token proves that the address is the person's own, so this operation can answer 409 for an address with an
/// account. The refresh token comes as a cookie.
#[utoipa::path(post, path = "/auth/signup/confirm", operation_id = "signup_confirm", tag = "sessions", security(()),
    request_body = ConfirmSignUp,
    responses(
        (status = 201, description = "Signed up and signed in", body = SignedUp),
        (status = 404, description = "The sign-up is unknown or has expired"),
        (status = 409, description = "The e-mail address has an account"),
        (status = 429, description = "Too many unknown tokens from this network"),
    ))]
pub(crate) async fn confirm(
    State(control): State<ControlState>,
    origin: Origin,
    headers: HeaderMap,
    Json(body): Json<ConfirmSignUp>,
) -> Result<Response, ControlError> {
    let attempt = Attempt::token(origin.peer);
    let throttle = &control.auth.login_throttle;
    let now = control.clock.now();
    throttle.admit(&attempt, now).await.map_err(login_throttle::too_many_attempts)?;
    let row = pending::presented(&control, &body.token).await?;
    throttle.refund(&attempt).await;
    let email = EmailAddress::parse(&row.email).map_err(Problem::internal)?;
    Passwords::accept(&body.password.0, email.as_str())
        .map_err(|reason| Problem::invalid_field("password", reason.to_string()))?;
    let salt = control.random.bytes();
    let password_hash = control.auth.passwords.hash(body.password.0, salt, origin.peer).await?;
    let account = NewAccount { email: &email, password_hash, origin: &origin, headers: &headers };
    account.create(&control, Route::Confirmed(body.token)).await
}
