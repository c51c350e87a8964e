//! `POST /auth/signup`

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use weir_domain::email::EmailAddress;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::Scope;
use weir_wire::members::InvitationToken;
use weir_wire::sessions::{Password, PendingSignUp, SignUp, SignedUp};

use super::new_account::{NewAccount, Route};
use super::pending;
use crate::actor::Origin;
use crate::error::ControlError;
use crate::login_throttle::Attempt;
use crate::passwords::Passwords;
use crate::state::{ControlState, Signup};
use crate::{invitations, login_throttle, names};

/// Create an account, with its first tenant or by an invitation to one.
///
/// Without an invitation only where the installation is open for sign-up. The refresh token comes as a cookie.
///
/// Where sign-ups are confirmed (`WEIR_SIGNUP=confirmed`), the answer is 202 for every address, whether or not it has an
/// account, and `POST /auth/signup/confirm` creates the account. Where sign-up is open, 409 reveals that an address has an
/// account.
#[utoipa::path(post, path = "/auth/signup", operation_id = "signup", tag = "sessions", security(()),
    request_body = SignUp,
    responses(
        (status = 201, description = "Signed up and signed in", body = SignedUp),
        (status = 202, description = "To be confirmed with the token that is sent to the address", body = PendingSignUp),
        (status = 403, description = "Sign-up is closed, or the invitation is for another address"),
        (status = 404, description = "The invitation is unknown or no longer valid"),
        (status = 409, description = "The e-mail address has an account; never where sign-ups are confirmed"),
        (status = 429, description = "Too many attempts, or too many sign-ups wait for confirmation"),
    ))]
pub(crate) async fn signup(
    State(control): State<ControlState>,
    origin: Origin,
    headers: HeaderMap,
    Json(body): Json<SignUp>,
) -> Result<Response, ControlError> {
    let SignUp { email, password, tenant_name, invitation } = body;
    let route = route(&control, tenant_name, invitation)?;
    let email = names::email(&email)?;
    if let Route::Open { tenant_name } = &route {
        names::name("tenant_name", tenant_name)?;
        if control.settings.signup == Signup::Confirmed {
            return pending::request(&control, &origin, &email, tenant_name).await;
        }
    }
    let password = accepted(password, &email)?;
    let attempt = Attempt::stranger(Some(&email), origin.peer);
    let now = control.clock.now();
    control
        .auth
        .login_throttle
        .admit(&attempt, now)
        .await
        .map_err(login_throttle::too_many_attempts)?;
    // This check precedes the hash, which is the costly part.
    if let Route::Invited(token) = &route {
        check_invitation(&control, token, &email).await?;
    }
    let salt = control.random.bytes();
    let hashed = control.auth.passwords.hash(password.0, salt, origin.peer).await;
    if hashed.is_err() {
        control.auth.login_throttle.refund(&attempt).await;
    }
    let account =
        NewAccount { email: &email, password_hash: hashed?, origin: &origin, headers: &headers };
    let response = account.create(&control, route).await?;
    control.auth.login_throttle.refund(&attempt).await;
    Ok(response)
}

fn route(
    control: &ControlState,
    tenant_name: Option<String>,
    invitation: Option<InvitationToken>,
) -> Result<Route, Problem> {
    match (tenant_name, invitation) {
        (None, Some(token)) => Ok(Route::Invited(token)),
        (Some(_), Some(_)) => {
            Err(Problem::invalid_field("tenant_name", "goes without an invitation only"))
        }
        _ if control.settings.signup == Signup::Closed => {
            Err(Problem::forbidden("sign-up is closed: ask for an invitation or an account"))
        }
        (Some(tenant_name), None) => Ok(Route::Open { tenant_name }),
        (None, None) => Err(Problem::invalid_field("tenant_name", "is missing")),
    }
}

fn accepted(password: Option<Password>, email: &EmailAddress) -> Result<Password, Problem> {
    let refused = |reason| Problem::invalid_field("password", reason);
    let password = password.ok_or_else(|| refused("is missing".to_owned()))?;
    match Passwords::accept(&password.0, email.as_str()) {
        Ok(()) => Ok(password),
        Err(reason) => Err(refused(reason.to_string())),
    }
}

/// Checks that an invitation admits the address. The invitation is read again when the account is created.
async fn check_invitation(
    control: &ControlState,
    token: &InvitationToken,
    email: &EmailAddress,
) -> Result<(), ControlError> {
    let mut tx = control.store.begin("sessions.signup", Scope::Service).await?;
    let row = invitations::presented(control, &mut tx, token).await?;
    Ok(invitations::only_for_its_address(&row, email.as_str())?)
}
