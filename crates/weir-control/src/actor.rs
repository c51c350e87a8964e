//! The caller of a request, its tenant and its rights: the extractors of every operation that needs credentials.
//!
//! [`By`] is a caller with at least a certain role in the tenant of the path: a member with an access token, or an API key
//! with the scope for the role. Another tenant is 404, as if it did not exist; a lower role is 403. A key that is restricted to
//! namespaces is refused (403), unless the operation says with [`InNamespaces`] that it limits itself to them. [`Person`] is a person
//! who has signed in, and [`Operator`] is an operator of the installation. All of them query the database on every call, so
//! the end of a session, a membership or a key takes effect at once.

use std::marker::PhantomData;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use weir_domain::api_key::Scope as KeyScope;
use weir_domain::id::TenantId;
use weir_http::problem::Problem;
use weir_store::{Actor, MemberRole};

use crate::actor::credential::{Credential, credential, role_of, usable_key};
use crate::actor::denials::Log;
use crate::actor::denied::Denial;
use crate::error::ControlError;
use crate::state::ControlState;
use crate::tokens::Bearer;

mod caller;
mod credential;
pub(crate) mod denials;
pub(crate) mod denied;
pub(crate) mod missing;
mod namespaces;
mod origin;
mod person;
mod sighting;

pub(crate) use caller::Caller;
pub(crate) use namespaces::Namespaces;
pub(crate) use origin::Origin;
pub(crate) use person::{Operator, Person};

/// A caller with at least the role `R` in the tenant of the path.
#[derive(Debug)]
pub(crate) struct By<R> {
    pub(crate) caller: Caller,
    role: PhantomData<R>,
}

/// A role as a type. Every handler has to name the role that it demands.
pub(crate) trait AtLeast: Send {
    const ROLE: MemberRole;
    /// A scope by which a key without the role can do the same.
    const SCOPE: Option<KeyScope> = None;
    /// Whether the operation limits itself to the namespaces of its caller.
    const IN_NAMESPACES: bool = false;
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

/// A reader of the tenant's audit log: an admin, or a key with the scope `audit`.
#[derive(Debug)]
pub(crate) struct Auditor;

impl AtLeast for Auditor {
    const ROLE: MemberRole = MemberRole::Admin;
    const SCOPE: Option<KeyScope> = Some(KeyScope::Audit);
}

/// A maker of tokens with which a customer reads its own usage: an editor, or a key with the scope `view`.
#[derive(Debug)]
pub(crate) struct ViewIssuer;

impl AtLeast for ViewIssuer {
    const ROLE: MemberRole = MemberRole::Editor;
    const SCOPE: Option<KeyScope> = Some(KeyScope::View);
}

/// The role `R`, in an operation that limits itself to the namespaces of its caller.
#[derive(Debug)]
pub(crate) struct InNamespaces<R>(PhantomData<R>);

impl<R: AtLeast> AtLeast for InNamespaces<R> {
    const ROLE: MemberRole = R::ROLE;
    const SCOPE: Option<KeyScope> = R::SCOPE;
    const IN_NAMESPACES: bool = true;
}

impl<R: AtLeast> FromRequestParts<ControlState> for By<R> {
    type Rejection = ControlError;

    async fn from_request_parts(
        parts: &mut Parts,
        control: &ControlState,
    ) -> Result<Self, ControlError> {
        let (tenant_id, names_object) = path(parts).await;
        let asking = Asking { tenant_id, operation: operation(parts), origin: Origin::of(parts) };
        let caller = match credential(parts, control)? {
            Credential::Token(bearer) => asking.by_member(control, bearer).await?,
            Credential::Key(digest) => asking.by_key::<R>(control, digest).await?,
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
        if !R::IN_NAMESPACES
            && let Err(problem) = caller.namespaces.admit_tenant()
        {
            caller.denied(control).await;
            return Err(problem.into());
        }
        if names_object || caller.namespaces.are_restricted() {
            missing::admit(&parts.extensions, &caller);
        }
        Ok(Self { caller, role: PhantomData })
    }
}

/// The tenant of the path, and whether the path names an object of it.
async fn path(parts: &mut Parts) -> (Option<TenantId>, bool) {
    let Ok(params) = RawPathParams::from_request_parts(parts, &()).await else {
        return (None, false);
    };
    let tenant = params.iter().find(|(name, _)| *name == "tenant");
    let tenant_id = tenant.and_then(|(_, text)| text.parse().ok());
    (tenant_id, params.iter().any(|(name, _)| name != "tenant"))
}

/// The operation as it is logged: bounded in length, relative to `/api/v1`, and without the query.
fn operation(parts: &Parts) -> String {
    let path: String = parts.uri.path().chars().take(300).collect();
    format!("{} {path}", parts.method)
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
            person::authenticate(control, bearer, self.tenant_id, self.origin.clone()).await?;
        let Some(membership) = membership else {
            self.denied(control, Log::Own(person.user_id), person.actor()).await;
            return Err(Problem::not_found().into());
        };
        Ok(Caller {
            tenant_id: membership.tenant_id,
            actor: person.actor(),
            role: membership.role,
            operator: person.operator,
            namespaces: Namespaces::ALL,
            suspended: membership.suspended,
            operation: self.operation.clone(),
            origin: person.origin,
        })
    }

    async fn by_key<R: AtLeast>(
        &self,
        control: &ControlState,
        digest: [u8; 32],
    ) -> Result<Caller, ControlError> {
        let (key, suspended) = usable_key(control, digest).await?;
        let log = Log::Tenant(key.tenant_id);
        let actor = Actor::Key { id: key.id, name: key.name };
        if self.tenant_id != Some(key.tenant_id) {
            self.denied(control, log, actor).await;
            return Err(Problem::not_found().into());
        }
        let by_scope =
            R::SCOPE.filter(|scope| key.scopes.iter().any(|word| word == scope.as_str()));
        let role = role_of(&key.scopes).max(by_scope.map(|_| R::ROLE));
        let refusal = if suspended {
            "the tenant is suspended"
        } else if let Some(role) = role {
            return Ok(Caller {
                tenant_id: key.tenant_id,
                operation: self.operation.clone(),
                origin: self.origin.clone(),
                role,
                operator: false,
                namespaces: Namespaces::of_key(key.namespaces),
                suspended,
                actor,
            });
        } else {
            "this key has no scope for it: `read`, `write`, `admin`, `audit` for the audit log, or `view` for tokens of customers"
        };
        self.denied(control, log, actor).await;
        Err(Problem::forbidden(refusal).into())
    }

    async fn denied(&self, control: &ControlState, log: Log, actor: Actor) {
        let operation = self.operation.clone();
        Denial { log, actor, operation, origin: &self.origin }.record(control).await;
    }
}
