//! People who have signed in, and operators.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use weir_domain::id::{SessionId, TenantId, UserId};
use weir_http::problem::Problem;
use weir_store::{Actor, Scope, Tx};

use crate::actor::credential::{Credential, credential, usable_key};
use crate::actor::origin::Origin;
use crate::actor::sighting;
use crate::error::ControlError;
use crate::state::ControlState;
use crate::tokens::Bearer;

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

impl FromRequestParts<ControlState> for Person {
    type Rejection = ControlError;

    async fn from_request_parts(
        parts: &mut Parts,
        control: &ControlState,
    ) -> Result<Self, ControlError> {
        let origin = Origin::of(parts);
        match credential(parts, control)? {
            Credential::Token(bearer) => Ok(authenticate(control, bearer, None, origin).await?.0),
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

impl Person {
    /// Begins a transaction that sees the rows of this person. An operator's transaction sees all tenants.
    pub(crate) async fn begin(
        &self,
        control: &ControlState,
        name: &'static str,
    ) -> Result<Tx, ControlError> {
        Ok(control.store.begin(name, Scope::User(self.user_id)).await?)
    }

    pub(crate) fn actor(&self) -> Actor {
        Actor::Person { id: self.user_id, email: self.email.clone() }
    }
}

/// The person who presents this token, and the membership in the tenant, if there is one.
pub(super) async fn authenticate(
    control: &ControlState,
    bearer: Bearer,
    tenant_id: Option<TenantId>,
    origin: Origin,
) -> Result<(Person, Option<weir_store::Membership>), ControlError> {
    let Bearer { user_id, session_id } = bearer;
    let now = control.clock.now();
    let found = control.store.authenticate(session_id, user_id, tenant_id, now).await?;
    let found = found.ok_or_else(Problem::unauthenticated)?;
    sighting::note(control, &found, now);
    let person =
        Person { user_id, session_id, email: found.email, operator: found.operator, origin };
    Ok((person, found.membership))
}
