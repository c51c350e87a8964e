//! `POST /auth/login`

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::json;
use weir_domain::email::EmailAddress;
use weir_domain::id::UserId;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::{Actor, NewAudit, Scope, Tx, UserRow};
use weir_wire::problem::ErrorCode;
use weir_wire::sessions::{Code, LogIn, LoggedIn};

use crate::actor::Origin;
use crate::error::ControlError;
use crate::login_throttle;
use crate::login_throttle::{Attempt, device};
use crate::network;
use crate::second_factor;
use crate::sessions;
use crate::state::ControlState;
use crate::tokens::LIFETIME_S;

/// Sign in with a password.
///
/// Unknown e-mail addresses, wrong passwords and disabled accounts get the same answer. The refresh token comes as a
/// cookie; a second cookie makes the browser a familiar device, whose attempts are counted apart from everybody else's.
#[utoipa::path(post, path = "/auth/login", operation_id = "login", tag = "sessions", security(()),
    request_body = LogIn,
    responses(
        (status = 200, description = "Signed in", body = LoggedIn),
        (status = 401, description = "Wrong e-mail address or password; with the code `second_factor`, a code is required or wrong"),
        (status = 429, description = "Too many wrong attempts"),
    ))]
pub(crate) async fn login(
    State(control): State<ControlState>,
    origin: Origin,
    headers: HeaderMap,
    Json(body): Json<LogIn>,
) -> Result<Response, ControlError> {
    let Ok(email) = EmailAddress::parse(&body.email) else {
        return Err(nobody(&control, &origin, body).await);
    };
    let attempt = admitted(&control, &origin, &headers, &email).await?;
    let found = by_email(&control, &email).await?;
    let stored = found.as_ref().map(|user| user.password_hash.clone());
    let verified = control.auth.passwords.verify(body.password.0, stored, origin.peer).await;
    if verified.is_err() {
        control.auth.login_throttle.refund(&attempt).await;
    }
    let right = verified?;
    let user = match found {
        Some(user) if right && !user.disabled => user,
        found => {
            record_refusal(&control, &origin, found, Some(&email));
            return Err(refused());
        }
    };
    control.auth.login_throttle.refund(&attempt).await;

    let mut tx = control.store.begin("sessions.login", Scope::User(user.id)).await?;
    // A change of the password while it was verified has ended all sessions, and this one would outlive them.
    tx.users().lock(user.id).await?;
    let present = tx.users().find(user.id).await?;
    let is_same = |now: &UserRow| !now.disabled && now.password_hash == user.password_hash;
    if !present.as_ref().is_some_and(is_same) {
        record_refusal(&control, &origin, Some(user), Some(&email));
        return Err(refused());
    }
    if let Err(error) = spend_code(&control, &mut tx, user.id, body.code.as_ref()).await {
        if body.code.is_some() {
            record_refusal(&control, &origin, Some(user), Some(&email));
        }
        return Err(error);
    }
    let token = sessions::begin_session(&control, &mut tx, user.id, &headers, &origin).await?;
    let actor = Actor::Person { id: user.id, email: user.email.clone() };
    tx.audit().append(&sessions::own_audit(&control, actor, &origin, "user.login"));
    tx.commit().await?;
    let body = LoggedIn {
        access_token: sessions::access_token(&control, user.id, token.session_id),
        token_type: "Bearer".to_owned(),
        expires_in_s: LIFETIME_S,
        user: sessions::user(user),
    };
    let response = sessions::with_cookie(&control, StatusCode::OK, &token, body);
    Ok(sessions::with_device(response, &control, &email))
}

/// Spends the code, if the account has a second factor. There is no session before, so no step can be skipped.
async fn spend_code(
    control: &ControlState,
    tx: &mut Tx,
    user_id: UserId,
    code: Option<&Code>,
) -> Result<(), ControlError> {
    let found = tx.second_factors().find(user_id).await?;
    let Some(factor) = found.filter(|factor| factor.confirmed_at.is_some()) else { return Ok(()) };
    let code = code.ok_or_else(second_factor::required)?;
    second_factor::spend(control, tx, user_id, &factor, code).await
}

/// Charges the attempt to the budget of the device, else to those of the account and the network. If these are exhausted, a
/// network from which the account was used has a budget of its own.
async fn admitted(
    control: &ControlState,
    origin: &Origin,
    headers: &HeaderMap,
    email: &EmailAddress,
) -> Result<Attempt, ControlError> {
    let throttle = &control.auth.login_throttle;
    let now = control.clock.now();
    if let Some(device) = device::of(headers, email, &control.auth.macs) {
        let attempt = Attempt::of_device(&device);
        throttle.admit(&attempt, now).await.map_err(login_throttle::too_many_attempts)?;
        return Ok(attempt);
    }
    let attempt = Attempt::stranger(Some(email), origin.peer);
    let Err(wait_s) = throttle.admit(&attempt, now).await else { return Ok(attempt) };
    let Some(network) = familiar_network(control, origin, email).await? else {
        return Err(login_throttle::too_many_attempts(wait_s).into());
    };
    let attempt = Attempt::familiar(email, &network);
    throttle.admit(&attempt, now).await.map_err(login_throttle::too_many_attempts)?;
    Ok(attempt)
}

/// The network of the request, if the account has or had a session from it.
async fn familiar_network(
    control: &ControlState,
    origin: &Origin,
    email: &EmailAddress,
) -> Result<Option<String>, ControlError> {
    let Some(network) = origin.peer.map(network::of) else { return Ok(None) };
    let Some(_permit) = control.auth.login_throttle.lookup() else { return Ok(None) };
    let scope = Scope::Login(email.as_str().to_owned());
    let mut tx = control.store.begin("sessions.has_network", scope).await?;
    let Some(user) = tx.users().by_email(email.as_str()).await? else { return Ok(None) };
    tx.enter_user(user.id).await?;
    let familiar = tx.sessions().has_network(user.id, &network).await?;
    Ok(familiar.then_some(network))
}

async fn by_email(
    control: &ControlState,
    email: &EmailAddress,
) -> Result<Option<UserRow>, ControlError> {
    let scope = Scope::Login(email.as_str().to_owned());
    let mut tx = control.store.begin("users.by_email", scope).await?;
    Ok(tx.users().by_email(email.as_str()).await?)
}

/// The answer for an address that cannot have an account. It is the same as for a wrong password, and as slow.
async fn nobody(control: &ControlState, origin: &Origin, body: LogIn) -> ControlError {
    let attempt = Attempt::stranger(None, origin.peer);
    if let Err(wait_s) = control.auth.login_throttle.admit(&attempt, control.clock.now()).await {
        return login_throttle::too_many_attempts(wait_s).into();
    }
    match control.auth.passwords.verify(body.password.0, None, origin.peer).await {
        Ok(_) => {
            record_refusal(control, origin, None, None);
            refused()
        }
        Err(busy) => busy.into(),
    }
}

fn refused() -> ControlError {
    let detail = "wrong e-mail address or password";
    Problem::new(ErrorCode::Unauthenticated, detail).into()
}

/// Records a wrong attempt, in the account's own log or, for an unknown account, in the installation's log. It is written
/// after the answer, because the time of the answer would otherwise reveal whether the account exists. Records about unknown
/// accounts are limited to sixty per minute.
fn record_refusal(
    control: &ControlState,
    origin: &Origin,
    found: Option<UserRow>,
    email: Option<&EmailAddress>,
) {
    let now = control.clock.now();
    let Some(permit) = control.local.refused_logins.permit(found.is_some(), now) else { return };
    let (id, actor) = match found {
        Some(user) => (user.id, Actor::Person { id: user.id, email: user.email }),
        None => (control.id(UserId::new), Actor::Anonymous),
    };
    let entry = NewAudit {
        // A text that is not an address could be a password in the wrong field.
        after: email.map(|email| json!({ "email": email.as_str() })),
        ..sessions::own_audit(control, actor, origin, "user.login_refused")
    };
    let control = control.clone();
    tokio::spawn(async move {
        let _permit = permit;
        let record = async {
            let mut tx = control.store.begin("sessions.refused", Scope::User(id)).await?;
            tx.audit().append(&entry);
            tx.commit().await
        };
        if let Err(error) = record.await {
            tracing::warn!(%error, "could not record a refused sign-in");
        }
    });
}
