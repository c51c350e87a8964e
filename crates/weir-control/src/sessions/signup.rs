//! `POST /auth/signup`

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use weir_domain::email::EmailAddress;
use weir_domain::id::{TenantId, UserId};
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::{Actor, MemberRole, NewUser, Scope, TenantRow, Tx};
use weir_wire::members::InvitationToken;
use weir_wire::sessions::{SignUp, SignedUp};

use crate::actor::Origin;
use crate::error::ControlError;
use crate::invitations::accept::Joining;
use crate::login_throttle::Attempt;
use crate::passwords::Passwords;
use crate::state::{ControlState, Signup};
use crate::tenants::create::Creation;
use crate::tokens::LIFETIME_S;
use crate::{invitations, names, sessions, tenants};

/// Make an account, with its first tenant or by an invitation to one.
///
/// Without an invitation only where the installation is open for sign-up. The refresh token comes as a cookie.
#[utoipa::path(post, path = "/auth/signup", operation_id = "signup", tag = "sessions", security(()),
    request_body = SignUp,
    responses(
        (status = 201, description = "Signed up and in", body = SignedUp),
        (status = 403, description = "Sign-up is closed, or the invitation is for another address"),
        (status = 404, description = "No such invitation, or no longer"),
        (status = 409, description = "The e-mail address has an account"),
        (status = 429, description = "Too many attempts"),
    ))]
pub(crate) async fn signup(
    State(control): State<ControlState>,
    origin: Origin,
    headers: HeaderMap,
    Json(body): Json<SignUp>,
) -> Result<Response, ControlError> {
    let way = Way::of(&control, body.tenant_name, body.invitation)?;
    let email = names::email(&body.email)?;
    way.check()?;
    Passwords::accept(&body.password.0, email.as_str())
        .map_err(|why| Problem::invalid_field("password", why.to_string()))?;
    let attempt = Attempt::stranger(Some(&email), origin.peer);
    let now = control.clock.now();
    control.login_throttle.admit(&attempt, now).await.map_err(sessions::too_many_attempts)?;
    // Before the hash, which is the costly part.
    way.admits(&control, &email).await?;
    let salt = control.random.bytes();
    let hashed = control.passwords.hash(body.password.0, salt, origin.peer).await;
    if hashed.is_err() {
        control.login_throttle.refund(&attempt).await;
    }
    let password_hash = hashed?;

    let user_id = control.id(UserId::new);
    let name = email.as_str().split('@').next().unwrap_or_default().chars().take(100).collect();
    let new = NewUser { id: user_id, email: email.as_str().to_owned(), name, password_hash, now };
    let mut tx = control.store.begin("sessions.signup", Scope::User(user_id)).await?;
    let user = tx.users().insert(&new).await?;
    let actor = Actor::Person { id: user_id, email: user.email.clone() };
    let joining = Joining { user_id, actor: actor.clone(), origin: &origin };
    let (tenant, role, version) = way.go(&control, &mut tx, joining).await?;
    let token = sessions::begin_session(&control, &mut tx, user_id, &headers, &origin).await?;
    tx.audit().append(&sessions::own_audit(&control, actor, &origin, "user.signup")).await?;
    tx.commit().await?;
    control.login_throttle.refund(&attempt).await;
    if let Some(version) = version {
        control.signal.announce(version);
    }

    let body = SignedUp {
        access_token: sessions::access_token(&control, user_id, token.session_id),
        token_type: "Bearer".to_owned(),
        expires_in_s: LIFETIME_S,
        user: sessions::user(user),
        tenant: tenants::tenant(tenant, Some(role)),
    };
    let response = sessions::with_cookie(&control, StatusCode::CREATED, &token, body);
    Ok(sessions::with_device(response, &control, &email))
}

/// What brings a new person in.
enum Way {
    Founding { tenant_name: String },
    Invited(InvitationToken),
}

impl Way {
    fn of(
        control: &ControlState,
        tenant_name: Option<String>,
        invitation: Option<InvitationToken>,
    ) -> Result<Self, Problem> {
        let open = control.settings.signup == Signup::Open;
        match (tenant_name, invitation) {
            (None, Some(token)) => Ok(Self::Invited(token)),
            (Some(_), Some(_)) => {
                Err(Problem::invalid_field("tenant_name", "goes without an invitation only"))
            }
            _ if !open => {
                Err(Problem::forbidden("sign-up is closed: ask for an invitation or an account"))
            }
            (Some(tenant_name), None) => Ok(Self::Founding { tenant_name }),
            (None, None) => Err(Problem::invalid_field("tenant_name", "is missing")),
        }
    }

    fn check(&self) -> Result<(), Problem> {
        match self {
            Self::Founding { tenant_name } => names::name("tenant_name", tenant_name),
            Self::Invited(_) => Ok(()),
        }
    }

    /// Whether it admits this address at all; it is looked at again when the account is made.
    async fn admits(
        &self,
        control: &ControlState,
        email: &EmailAddress,
    ) -> Result<(), ControlError> {
        let Self::Invited(token) = self else { return Ok(()) };
        let mut tx = control.store.begin("sessions.signup", Scope::Service).await?;
        let row = invitations::presented(control, &mut tx, token).await?;
        Ok(invitations::only_for_its_address(&row, email.as_str())?)
    }

    /// The tenant, the person's role in it, and the version of the rulebook if that changed.
    async fn go(
        &self,
        control: &ControlState,
        tx: &mut Tx,
        joining: Joining<'_>,
    ) -> Result<(TenantRow, MemberRole, Option<u64>), ControlError> {
        match self {
            Self::Founding { tenant_name } => {
                let tenant_id = control.id(TenantId::new);
                let creation = Creation { tenant_id, name: tenant_name, actor: &joining.actor };
                let Joining { user_id, origin, .. } = joining;
                let (tenant, version) = creation.write(control, tx, user_id, origin).await?;
                Ok((tenant, MemberRole::Owner, Some(version)))
            }
            Self::Invited(token) => {
                let row = invitations::presented(control, tx, token).await?;
                let role = row.role;
                Ok((joining.write(control, tx, row).await?, role, None))
            }
        }
    }
}
