//! Sign-up, sign-in and sign-out. These operations need no credentials except those that they are about.

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use weir_domain::email::EmailAddress;
use weir_domain::id::{AuditId, SessionId, UserId};
use weir_http::json::Json;
use weir_store::{Actor, NewAudit, NewSession, Tx, UserRow};
use weir_wire::sessions::User;

use crate::actor::Origin;
use crate::error::ControlError;
use crate::login_throttle::device;
use crate::network;
use crate::refresh::{RefreshToken, session_end};
use crate::state::ControlState;
use crate::tokens::Bearer;

pub(crate) mod confirm;
pub(crate) mod login;
pub(crate) mod logout;
mod mail_signup;
mod new_account;
pub(crate) mod oidc;
pub(crate) mod options;
mod pending;
pub(crate) mod refresh;
pub(crate) mod request_reset;
pub(crate) mod reset_password;
pub(crate) mod signup;
mod signup_token;

pub use reset_password::reset_digest;
pub use signup_token::signup_digest;

/// A person in JSON, without the password.
pub(crate) fn user(row: UserRow) -> User {
    User {
        id: row.id.to_string(),
        email: row.email,
        name: row.name,
        operator: row.operator,
        created_at: row.created_at.into(),
    }
}

/// Begins a session in a transaction that can read the person. Returns the refresh token.
async fn begin_session(
    control: &ControlState,
    tx: &mut Tx,
    user_id: UserId,
    headers: &HeaderMap,
    origin: &Origin,
) -> Result<RefreshToken, ControlError> {
    let token = RefreshToken::new(control.id(SessionId::new), &control.random, &control.auth.macs);
    let now = control.clock.now();
    let session = NewSession {
        id: token.session_id,
        user_id,
        refresh_digest: token.digest(),
        user_agent: user_agent(headers),
        network: origin.peer.map(network::of),
        now,
        expires_at: session_end(&control.settings, token.session_id, now),
    };
    tx.sessions().insert(&session).await?;
    Ok(token)
}

/// An access token of a session.
fn access_token(control: &ControlState, user_id: UserId, session_id: SessionId) -> String {
    let token_id = format!("{:032x}", u128::from_le_bytes(control.random.bytes()));
    control.auth.tokens.sign(Bearer { user_id, session_id }, &token_id, control.clock.now())
}

/// An answer that sets the refresh cookie.
fn with_cookie(
    control: &ControlState,
    status: StatusCode,
    token: &RefreshToken,
    body: impl Serialize,
) -> Response {
    let cookie = token.cookie(control.settings.session_idle_ms);
    (status, [(header::SET_COOKIE, cookie)], Json(body)).into_response()
}

/// Adds the cookie that makes the browser a familiar device of the account.
fn with_device(mut response: Response, control: &ControlState, email: &EmailAddress) -> Response {
    let cookie = device::cookie(email, &control.auth.macs, &control.random);
    response.headers_mut().append(header::SET_COOKIE, cookie);
    response
}

/// Appends an audit entry to a person's own log.
pub(crate) fn own_audit(
    control: &ControlState,
    actor: Actor,
    origin: &Origin,
    action: &str,
) -> NewAudit {
    let object_id = match &actor {
        Actor::Person { id, .. } => id.to_string(),
        Actor::Key { id, .. } => id.to_string(),
        Actor::System | Actor::Anonymous => String::new(),
    };
    NewAudit {
        id: control.id(AuditId::new),
        tenant_id: None,
        actor,
        action: action.to_owned(),
        object_kind: "user".to_owned(),
        object_id,
        before: None,
        after: None,
        ip: origin.ip(),
        request_id: origin.request_id.clone(),
    }
}

/// The `User-Agent`, truncated to 200 characters.
fn user_agent(headers: &HeaderMap) -> String {
    let text = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
    text.unwrap_or_default().chars().take(200).collect()
}
