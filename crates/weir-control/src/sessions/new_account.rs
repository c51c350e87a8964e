//! A new account with a membership and a session, in one transaction.

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use weir_domain::email::EmailAddress;
use weir_domain::id::{TenantId, UserId};
use weir_store::{Actor, MemberRole, NewUser, Scope, TenantRow, Tx};
use weir_wire::members::InvitationToken;
use weir_wire::sessions::{SignUpToken, SignedUp};

use super::pending;
use crate::actor::Origin;
use crate::error::ControlError;
use crate::invitations::accept::Joining;
use crate::state::ControlState;
use crate::tenants::create::Creation;
use crate::tokens::LIFETIME_S;
use crate::{invitations, sessions, tenants};

/// An account to be created.
pub(super) struct NewAccount<'a> {
    pub(super) email: &'a EmailAddress,
    pub(super) password_hash: String,
    pub(super) origin: &'a Origin,
    pub(super) headers: &'a HeaderMap,
}

/// The way in which a new person joins a tenant.
#[derive(Debug)]
pub(super) enum Route {
    /// By an open sign-up, with a new tenant.
    Open { tenant_name: String },
    /// By a confirmed sign-up, with a new tenant.
    Confirmed(SignUpToken),
    /// By an invitation, to its tenant.
    Invited(InvitationToken),
}

/// The tenant that a new person joins.
enum Destination {
    New { tenant_name: String },
    Invited(InvitationToken),
}

impl NewAccount<'_> {
    /// Writes all rows and answers 201 with a session.
    pub(super) async fn create(
        self,
        control: &ControlState,
        route: Route,
    ) -> Result<Response, ControlError> {
        let Self { email, password_hash, origin, headers } = self;
        let user_id = control.id(UserId::new);
        let name = email.as_str().split('@').next().unwrap_or_default().chars().take(100).collect();
        let now = control.clock.now();
        let new =
            NewUser { id: user_id, email: email.as_str().to_owned(), name, password_hash, now };
        let mut tx = control.store.begin("sessions.signup", Scope::User(user_id)).await?;
        // A new account ends the sign-up of its address, so the token is spent first.
        let destination = route.destination(control, &mut tx).await?;
        let user = tx.users().insert(&new).await?;
        let actor = Actor::Person { id: user_id, email: user.email.clone() };
        let joining = Joining { user_id, actor: actor.clone(), origin };
        let (tenant, role) = destination.join(control, &mut tx, joining).await?;
        let token = sessions::begin_session(control, &mut tx, user_id, headers, origin).await?;
        tx.audit().append(&sessions::own_audit(control, actor, origin, "user.signup"));
        let version = tx.publish(tenant.id, None).await?;
        control.announce(version);
        let body = SignedUp {
            access_token: sessions::access_token(control, user_id, token.session_id),
            token_type: "Bearer".to_owned(),
            expires_in_s: LIFETIME_S,
            user: sessions::user(user),
            tenant: tenants::tenant(tenant, Some(role)),
        };
        let response = sessions::with_cookie(control, StatusCode::CREATED, &token, body);
        Ok(sessions::with_device(response, control, email))
    }
}

impl Route {
    /// Spends the token of a confirmed sign-up.
    async fn destination(
        self,
        control: &ControlState,
        tx: &mut Tx,
    ) -> Result<Destination, ControlError> {
        Ok(match self {
            Self::Open { tenant_name } => Destination::New { tenant_name },
            Self::Confirmed(token) => Destination::New {
                tenant_name: pending::spend(control, tx, &token).await?.tenant_name,
            },
            Self::Invited(token) => Destination::Invited(token),
        })
    }
}

impl Destination {
    /// Joins or creates the tenant. Returns it with the person's role in it.
    async fn join(
        self,
        control: &ControlState,
        tx: &mut Tx,
        joining: Joining<'_>,
    ) -> Result<(TenantRow, MemberRole), ControlError> {
        let tenant_name = match self {
            Self::New { tenant_name } => tenant_name,
            Self::Invited(token) => {
                let row = invitations::presented(control, tx, &token).await?;
                let role = row.role;
                return Ok((joining.write(control, tx, row).await?, role));
            }
        };
        let Joining { user_id, actor, origin } = joining;
        let creation =
            Creation { tenant_id: control.id(TenantId::new), name: &tenant_name, actor: &actor };
        let tenant = creation.write(control, tx, user_id, origin).await?;
        Ok((tenant, MemberRole::Owner))
    }
}
