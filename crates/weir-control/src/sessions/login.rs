//! `POST /auth/login`

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::json;
use weir_domain::id::UserId;
use weir_domain::names as domain;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::{Actor, NewAudit, Scope, UserRow};
use weir_wire::problem::ErrorCode;
use weir_wire::sessions::{LogIn, LoggedIn};

use crate::actor::Origin;
use crate::error::ControlError;
use crate::login_floor::Attempt;
use crate::sessions;
use crate::sessions::signup::asked_too_often;
use crate::state::ControlState;
use crate::tokens::LIFETIME_S;

/// Sign in with a password.
///
/// An unknown e-mail address and a wrong password are told apart by nothing. The refresh token comes as a cookie.
#[utoipa::path(post, path = "/auth/login", operation_id = "login", tag = "sessions", security(()),
    request_body = LogIn,
    responses(
        (status = 200, description = "Signed in", body = LoggedIn),
        (status = 401, description = "Not this e-mail address with this password"),
        (status = 429, description = "Too many wrong tries"),
    ))]
pub(crate) async fn login(
    State(control): State<ControlState>,
    origin: Origin,
    headers: HeaderMap,
    Json(body): Json<LogIn>,
) -> Result<Response, ControlError> {
    let attempt = Attempt::new(&body.email, origin.peer);
    control.login_floor.admit(&attempt, control.clock.now()).map_err(asked_too_often)?;
    let plausible = body.email.len() <= 254 && !body.email.contains('\0');
    let found = if plausible {
        let mut tx =
            control.store.begin("users.by_email", Scope::Login(body.email.clone())).await?;
        tx.users().by_email(&body.email).await?
    } else {
        None
    };
    let stored = found.as_ref().map(|user| user.password_hash.clone());
    let right = control.passwords.verify(body.password.0, stored).await;
    let Some(user) = found.as_ref().filter(|_| right).cloned() else {
        refused(&control, &origin, found, &body.email).await?;
        let detail = "no account has this e-mail address and this password";
        return Err(Problem::new(ErrorCode::Unauthenticated, detail).into());
    };
    control.login_floor.succeeded(&attempt, control.clock.now());

    let mut tx = control.store.begin("sessions.login", Scope::User(user.id)).await?;
    let agent = sessions::user_agent(&headers);
    let token = sessions::begin_session(&control, &mut tx, user.id, agent).await?;
    let actor = Actor::Person { id: user.id, email: user.email.clone() };
    tx.audit().append(&sessions::own_audit(&control, actor, &origin, "user.login")).await?;
    tx.commit().await?;
    let body = LoggedIn {
        access_token: sessions::access_token(&control, user.id, token.session_id),
        token_type: "Bearer".to_owned(),
        expires_in_s: LIFETIME_S,
        user: sessions::user(user),
    };
    Ok(sessions::with_cookie(&control, StatusCode::OK, &token, body))
}

/// Records a refused log-in. One for an unknown address goes to the installation's log: an entry written for some
/// addresses only would tell them apart.
async fn refused(
    control: &ControlState,
    origin: &Origin,
    found: Option<UserRow>,
    email: &str,
) -> Result<(), ControlError> {
    let (id, actor) = match found {
        Some(user) => (user.id, Actor::Person { id: user.id, email: user.email }),
        None => (control.id(UserId::new), Actor::Anonymous),
    };
    // What is no address could be a password in the wrong field.
    let known_form = domain::email(email).is_ok();
    let entry = NewAudit {
        after: known_form.then(|| json!({ "email": email })),
        ..sessions::own_audit(control, actor, origin, "user.login_refused")
    };
    let mut tx = control.store.begin("sessions.refused", Scope::User(id)).await?;
    tx.audit().append(&entry).await?;
    Ok(tx.commit().await?)
}
