//! A change of a tenant's configuration: one transaction that holds the change itself, its audit row, the new version
//! of the rulebook and the answer kept for repeats; after its commit the version is announced to the gates.

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use serde_json::Value;
use weir_domain::id::AuditId;
use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_store::{NewAudit, Owner, Scope, Tx};

use crate::actor::Caller;
use crate::answers::{answer, to_value};
use crate::error::ControlError;
use crate::input::{Claiming, Once};
use crate::state::ControlState;

/// A change that is under way; dropped without an answer, nothing happened.
#[derive(Debug)]
pub(crate) struct Change {
    control: ControlState,
    claiming: Claiming,
    /// Who changes.
    pub(crate) caller: Caller,
    /// When.
    pub(crate) now: Timestamp,
    /// The version of the rulebook from which the change holds.
    pub(crate) version: u64,
    /// Where the change is made.
    pub(crate) tx: Tx,
}

/// What was changed, for the audit log.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    kind: &'static str,
    id: String,
}

impl Object {
    pub(crate) fn new(kind: &'static str, id: &impl ToString) -> Self {
        Self { kind, id: id.to_string() }
    }
}

impl ControlState {
    /// Begins a change of the caller's tenant. A repeat of a request ends here, with its first answer.
    pub(crate) async fn change(
        &self,
        name: &'static str,
        caller: Caller,
        once: Once,
    ) -> Result<Change, ControlError> {
        if caller.suspended {
            caller.denied(self).await;
            return Err(
                Problem::forbidden("the tenant is suspended: nothing can be changed").into()
            );
        }
        let now = self.clock.now();
        let tenant_id = caller.tenant_id;
        let mut tx = self.store.begin(name, Scope::Tenant(tenant_id)).await?;
        let claiming = once.claim(&mut tx, Owner::Tenant(tenant_id), now).await?;
        let version = tx.rulebook().bump(tenant_id).await?;
        Ok(Change { control: self.clone(), claiming, caller, now, version, tx })
    }

    /// A transaction that only reads the caller's tenant.
    pub(crate) async fn reading(
        &self,
        name: &'static str,
        caller: &Caller,
    ) -> Result<Tx, ControlError> {
        Ok(self.store.begin(name, Scope::Tenant(caller.tenant_id)).await?)
    }
}

impl Change {
    /// Records what was done.
    pub(crate) async fn audit(
        &mut self,
        action: &str,
        object: Object,
        before: Option<Value>,
        after: Option<Value>,
    ) -> Result<(), ControlError> {
        let entry = NewAudit {
            id: self.control.id(AuditId::new),
            tenant_id: Some(self.caller.tenant_id),
            actor: self.caller.actor.clone(),
            action: action.to_owned(),
            object_kind: object.kind.to_owned(),
            object_id: object.id,
            before,
            after,
            ip: self.caller.origin.ip(),
            request_id: self.caller.origin.request_id.clone(),
        };
        Ok(self.tx.audit().append(&entry).await?)
    }

    /// Commits and answers with this body, now and for repeats.
    pub(crate) async fn answer(
        self,
        status: StatusCode,
        body: &impl Serialize,
    ) -> Result<Response, ControlError> {
        let body = to_value(body)?;
        self.commit(status, &body).await?;
        Ok(answer(status, &body))
    }

    /// Commits and answers with a body that is shown once; repeats are a conflict with this sentence.
    pub(crate) async fn answer_once(
        self,
        status: StatusCode,
        shown: &impl Serialize,
        to_repeats: String,
    ) -> Result<Response, ControlError> {
        let shown = to_value(shown)?;
        self.commit(StatusCode::CONFLICT, &Value::String(to_repeats)).await?;
        Ok(answer(status, &shown))
    }

    /// Commits and answers without a body.
    pub(crate) async fn done(self) -> Result<Response, ControlError> {
        self.commit(StatusCode::NO_CONTENT, &Value::Null).await?;
        Ok(StatusCode::NO_CONTENT.into_response())
    }

    async fn commit(mut self, status: StatusCode, body: &Value) -> Result<(), ControlError> {
        self.claiming.finish(&mut self.tx, status, body).await?;
        self.tx.commit().await?;
        self.control.signal.announce(self.version);
        Ok(())
    }
}
