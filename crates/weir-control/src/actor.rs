//! The caller of a request, its tenant and its rights: the extractors of every operation that needs credentials.
//!
//! [`By`] is a caller with at least a certain role in the tenant of the path: a member with an access token, or an API key
//! with the scope for the role. Another tenant is 404, as if it did not exist; a lower role is 403. [`Person`] is a person
//! who has signed in, and [`Operator`] is an operator of the installation. All of them query the database on every call, so
//! the end of a session, a membership or a key takes effect at once.

use std::marker::PhantomData;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use weir_domain::api_key::{KeyDigest, Scope as KeyScope};
use weir_domain::id::{SessionId, TenantId, UserId};
use weir_http::bearer;
use weir_http::problem::Problem;
use weir_store::{Actor, KeyRow, MemberRole, Scope};

use crate::actor::denials::Log;
use crate::actor::denied::Denial;
use crate::error::ControlError;
use crate::state::ControlState;
use crate::tokens::Bearer;

pub(crate) mod denials;
pub(crate) mod denied;
mod origin;

pub(crate) use origin::Origin;

/// The shortest time between two records of the use of a key.
const KEY_USE_MS: i64 = 60_000;

/// A caller with at least the role `R` in the tenant of the path.
#[derive(Debug)]
pub(crate) struct By<R> {
    pub(crate) caller: Caller,
    role: PhantomData<R>,
}

/// A caller and its tenant.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) tenant_id: TenantId,
    pub(crate) actor: Actor,
    pub(crate) role: MemberRole,
    pub(crate) suspended: bool,
    /// The method and path of the request.
    pub(crate) operation: String,
    pub(crate) origin: Origin,
}

/// A signed-in person.
#[derive(Debug, Clone)]
pub(crate) struct Person {
    pub(crate) user_id: UserId,
    pub(crate) session_id: SessionId,
    pub(crate) email: String,
    pub(crate) operator: bool,
    pub(crate) origin: Origin,
}

/// An operator of this installation. To other callers the operation does not exist.
#[derive(Debug, Clone)]
pub(crate) struct Operator(pub(crate) Person);

/// A role as a type. Every handler has to name the role that it demands.
pub(crate) trait AtLeast: Send {
    const ROLE: MemberRole;
}

macro_rules! roles {
    ($($name:ident)+) => {$(
        #[derive(Debug)]
        pub(crate) struct $name;

        impl AtLeast for $name {
            const ROLE: MemberRole = MemberRole::$name;
        }
    )+};
}

roles! { Viewer Editor Admin Owner }

impl<R: AtLeast> FromRequestParts<ControlState> for By<R> {
    type Rejection = ControlError;

    async fn from_request_parts(
        parts: &mut Parts,
        control: &ControlState,
    ) -> Result<Self, ControlError> {
        let tenant_id = tenant_of_path(parts).await;
        let asking = Asking { tenant_id, operation: operation(parts), origin: Origin::of(parts) };
        let caller = match credential(parts, control)? {
            Credential::Token(bearer) => asking.by_member(control, bearer).await?,
            Credential::Key(digest) => asking.by_key(control, digest).await?,
        };
        control
            .local
            .admin_rates
            .admit(&control.store, caller.tenant_id, control.clock.now())
            .await?;
        if caller.role < R::ROLE {
            caller.denied(control).await;
            let needed = R::ROLE.as_str();
            let detail = format!("this needs the role `{needed}`, or a key with the scope for it");
            return Err(Problem::forbidden(detail).into());
        }
        Ok(Self { caller, role: PhantomData })
    }
}

impl FromRequestParts<ControlState> for Person {
    type Rejection = ControlError;

    async fn from_request_parts(
        parts: &mut Parts,
        control: &ControlState,
    ) -> Result<Self, ControlError> {
        let origin = Origin::of(parts);
        match credential(parts, control)? {
            Credential::Token(bearer) => Ok(person(control, bearer, None, origin).await?.0),
            Credential::Key(digest) => {
                usable_key(control, digest).await?;
                Err(Problem::forbidden("API keys cannot do this: sign in").into())
            }
        }
    }
}

impl FromRequestParts<ControlState> for Operator {
    type Rejection = ControlError;

    async fn from_request_parts(
        parts: &mut Parts,
        control: &ControlState,
    ) -> Result<Self, ControlError> {
        match Person::from_request_parts(parts, control).await {
            Ok(person) if person.operator => Ok(Self(person)),
            Ok(_) => Err(Problem::not_found().into()),
            Err(ControlError::Refused(problem)) if problem.code().status() == 403 => {
                Err(Problem::not_found().into())
            }
            Err(error) => Err(error),
        }
    }
}

impl Caller {
    /// Records that the operation of the request was denied to this caller.
    pub(crate) async fn denied(&self, control: &ControlState) {
        let (log, actor) = (Log::Tenant(self.tenant_id), self.actor.clone());
        let operation = self.operation.clone();
        Denial { log, actor, operation, origin: &self.origin }.record(control).await;
    }
}

impl Person {
    pub(crate) fn actor(&self) -> Actor {
        Actor::Person { id: self.user_id, email: self.email.clone() }
    }
}

enum Credential {
    Token(Bearer),
    Key([u8; 32]),
}

fn credential(parts: &Parts, control: &ControlState) -> Result<Credential, Problem> {
    let text = bearer::credential(&parts.headers, &parts.uri)?;
    let credential = if text.starts_with("weir_") {
        KeyDigest::of_presented(text).map(|KeyDigest(digest)| Credential::Key(digest))
    } else {
        control.auth.tokens.verify(text, control.clock.now()).map(Credential::Token)
    };
    credential.ok_or_else(Problem::unauthenticated)
}

async fn tenant_of_path(parts: &mut Parts) -> Option<TenantId> {
    let params = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    let (_, text) = params.iter().find(|(name, _)| *name == "tenant")?;
    text.parse().ok()
}

/// The operation as it is logged: bounded in length, relative to `/api/v1`, and without the query.
fn operation(parts: &Parts) -> String {
    let path: String = parts.uri.path().chars().take(300).collect();
    format!("{} {path}", parts.method)
}

async fn person(
    control: &ControlState,
    bearer: Bearer,
    tenant_id: Option<TenantId>,
    origin: Origin,
) -> Result<(Person, Option<weir_store::Membership>), ControlError> {
    let Bearer { user_id, session_id } = bearer;
    let now = control.clock.now();
    let mut tx = control.store.begin("sessions.authenticate", Scope::User(user_id)).await?;
    let found = tx.sessions().authenticate(session_id, user_id, tenant_id, now).await?;
    let found = found.ok_or_else(Problem::unauthenticated)?;
    let person =
        Person { user_id, session_id, email: found.email, operator: found.operator, origin };
    Ok((person, found.membership))
}

/// A request about a tenant, before the rights of its caller are known.
struct Asking {
    tenant_id: Option<TenantId>,
    operation: String,
    origin: Origin,
}

impl Asking {
    async fn by_member(
        &self,
        control: &ControlState,
        bearer: Bearer,
    ) -> Result<Caller, ControlError> {
        let (person, membership) =
            person(control, bearer, self.tenant_id, self.origin.clone()).await?;
        let Some(membership) = membership else {
            self.denied(control, Log::Own(person.user_id), person.actor()).await;
            return Err(Problem::not_found().into());
        };
        Ok(Caller {
            tenant_id: membership.tenant_id,
            actor: person.actor(),
            role: membership.role,
            suspended: membership.suspended,
            operation: self.operation.clone(),
            origin: person.origin,
        })
    }

    async fn by_key(
        &self,
        control: &ControlState,
        digest: [u8; 32],
    ) -> Result<Caller, ControlError> {
        let (key, suspended) = usable_key(control, digest).await?;
        let (log, actor) = (Log::Tenant(key.tenant_id), Actor::Key { id: key.id, name: key.name });
        if self.tenant_id != Some(key.tenant_id) {
            self.denied(control, log, actor).await;
            return Err(Problem::not_found().into());
        }
        let refusal = if suspended {
            "the tenant is suspended"
        } else if let Some(role) = role_of(&key.scopes) {
            return Ok(Caller {
                tenant_id: key.tenant_id,
                operation: self.operation.clone(),
                origin: self.origin.clone(),
                role,
                suspended,
                actor,
            });
        } else {
            "this key has none of the scopes `read`, `write` and `admin`"
        };
        self.denied(control, log, actor).await;
        Err(Problem::forbidden(refusal).into())
    }

    async fn denied(&self, control: &ControlState, log: Log, actor: Actor) {
        let operation = self.operation.clone();
        Denial { log, actor, operation, origin: &self.origin }.record(control).await;
    }
}

async fn usable_key(
    control: &ControlState,
    digest: [u8; 32],
) -> Result<(KeyRow, bool), ControlError> {
    let mut tx = control.store.begin("keys.authenticate", Scope::Key(digest)).await?;
    let key = tx.keys().by_digest(&digest, control.clock.now()).await?;
    let key = key.ok_or_else(Problem::unauthenticated)?;
    tx.enter_tenant(key.tenant_id).await?;
    let tenant = tx.tenants().find(key.tenant_id).await?;
    let tenant = tenant.ok_or_else(Problem::unauthenticated)?;
    let now = control.clock.now();
    if key.last_used_at.is_none_or(|last| now >= last.plus_ms(KEY_USE_MS)) {
        tx.keys().used(&[(key.tenant_id, key.id, now)]).await?;
        tx.commit().await?;
    }
    Ok((key, tenant.suspended))
}

/// The role that the scopes of a key grant. A key is never an owner, and a key with only the `check` scope has no role.
fn role_of(scopes: &[String]) -> Option<MemberRole> {
    let roles = scopes.iter().filter_map(|word| match KeyScope::parse(word)? {
        KeyScope::Check => None,
        KeyScope::Read => Some(MemberRole::Viewer),
        KeyScope::Write => Some(MemberRole::Editor),
        KeyScope::Admin => Some(MemberRole::Admin),
    });
    roles.max()
}
