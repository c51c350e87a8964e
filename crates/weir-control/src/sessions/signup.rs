//! `POST /auth/signup`

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use weir_domain::id::{TenantId, UserId};
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::{Actor, MemberRole, NewUser, Scope};
use weir_wire::problem::ErrorCode;
use weir_wire::sessions::{SignUp, SignedUp};

use crate::actor::Origin;
use crate::error::ControlError;
use crate::login_floor::Attempt;
use crate::passwords::Passwords;
use crate::state::{ControlState, Signup};
use crate::tokens::LIFETIME_S;
use crate::{names, sessions, tenants};

/// Make an account and its first tenant.
///
/// Only where the installation is open for sign-up. The refresh token comes as a cookie.
#[utoipa::path(post, path = "/auth/signup", operation_id = "signup", tag = "sessions", security(()),
    request_body = SignUp,
    responses(
        (status = 201, description = "Signed up and in", body = SignedUp),
        (status = 403, description = "Sign-up is closed"),
        (status = 409, description = "The e-mail address has an account"),
        (status = 429, description = "Too many tries"),
    ))]
pub(crate) async fn signup(
    State(control): State<ControlState>,
    origin: Origin,
    headers: HeaderMap,
    Json(body): Json<SignUp>,
) -> Result<Response, ControlError> {
    if control.settings.signup == Signup::Closed {
        return Err(Problem::forbidden("sign-up is closed: ask an operator for an account").into());
    }
    names::email(&body.email)?;
    names::name("tenant_name", &body.tenant_name)?;
    Passwords::accept(&body.password.0, &body.email)
        .map_err(|why| Problem::invalid_field("password", why.to_string()))?;
    let attempt = Attempt::new(&body.email, origin.peer);
    control.login_floor.admit(&attempt, control.clock.now()).map_err(asked_too_often)?;
    let password_hash = control.passwords.hash(body.password.0, control.random.bytes()).await;

    let (user_id, tenant_id) = (control.id(UserId::new), control.id(TenantId::new));
    let name = body.email.split('@').next().unwrap_or_default().chars().take(100).collect();
    let now = control.clock.now();
    let new = NewUser { id: user_id, email: body.email, name, password_hash, now };
    let mut tx = control.store.begin("sessions.signup", Scope::User(user_id)).await?;
    let user = tx.users().insert(&new).await?;
    let actor = Actor::Person { id: user_id, email: user.email.clone() };
    let created = tenants::create::Creation { tenant_id, name: &body.tenant_name, actor: &actor };
    let (tenant, version) = created.write(&control, &mut tx, user_id, &origin).await?;
    let token =
        sessions::begin_session(&control, &mut tx, user_id, sessions::user_agent(&headers)).await?;
    tx.audit().append(&sessions::own_audit(&control, actor, &origin, "user.signup")).await?;
    tx.commit().await?;
    control.login_floor.succeeded(&attempt, now);
    control.announce(version).await;

    let body = SignedUp {
        access_token: sessions::access_token(&control, user_id, token.session_id),
        token_type: "Bearer".to_owned(),
        expires_in_s: LIFETIME_S,
        user: sessions::user(user),
        tenant: tenants::tenant(tenant, Some(MemberRole::Owner)),
    };
    Ok(sessions::with_cookie(&control, StatusCode::CREATED, &token, body))
}

/// The answer to one who tries too often.
pub(crate) fn asked_too_often(wait_s: u32) -> Problem {
    let detail = "too many tries; wait before the next";
    Problem::new(ErrorCode::TooManyRequests, detail).retry_after_s(wait_s)
}
