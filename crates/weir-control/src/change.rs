//! A change of a tenant. One transaction contains the change, its audit entry, the answer that is retained for repeats and,
//! if gates serve the changed object, the new version of the rulebook, which is announced after the commit.

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use serde_json::Value;
use weir_domain::id::AuditId;
use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_store::{BegunChange, NewAudit, Owner, Scope, TenantCeilings, Tx};

use crate::actor::Caller;
use crate::answers::{answer, to_value};
use crate::error::ControlError;
use crate::input::{Claiming, Once};
use crate::state::{ControlSettings, ControlState};

/// A change in progress. If it is dropped without an answer, it is rolled back.
#[derive(Debug)]
pub(crate) struct Change {
    control: ControlState,
    claiming: Claiming,
    /// The caller. Its tenant is changed.
    pub(crate) caller: Caller,
    /// The time of the change.
    pub(crate) now: Timestamp,
    /// The transaction, in the scope of the tenant.
    pub(crate) tx: Tx,
    /// The ceilings of the tenant.
    pub(crate) ceilings: TenantCeilings,
}

/// A change whose intent is committed, and whose effect is outside of the database. No lock is held.
#[derive(Debug)]
pub(crate) struct Intent {
    control: ControlState,
    claiming: Claiming,
    caller: Caller,
}

/// The object of a change, for the audit log.
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
    /// Begins a change of the caller's tenant. A repeated request ends here with its first answer. Other changes of the
    /// tenant wait for this one; changes of other tenants do not.
    pub(crate) async fn change(
        &self,
        name: &'static str,
        caller: Caller,
        once: Once,
    ) -> Result<Change, ControlError> {
        if caller.suspended {
            caller.denied(self).await;
            return Err(Problem::forbidden("the tenant is suspended: it cannot be changed").into());
        }
        let now = self.clock.now();
        let tenant_id = caller.tenant_id;
        let claim = once.claim(Owner::Tenant(tenant_id), now);
        let begun = self.store.begin_change(name, tenant_id, claim.as_ref()).await?;
        let BegunChange { tx, claimed, ceilings } = begun;
        let claiming = Claiming::new(claim, claimed)?;
        Ok(Change { control: self.clone(), claiming, caller, now, tx, ceilings })
    }

    /// Announces a version of the rulebook to the gates, if there is a new one.
    pub(crate) fn announce(&self, version: Option<u64>) {
        if let Some(version) = version {
            self.signal.announce(version);
            self.regions.announce(version);
        }
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

impl Intent {
    /// Continues the change in a second transaction, after its effect.
    pub(crate) async fn resume(self, name: &'static str) -> Result<Change, ControlError> {
        let Self { control, claiming, caller } = self;
        let now = control.clock.now();
        let begun = control.store.begin_change(name, caller.tenant_id, None).await?;
        let BegunChange { tx, ceilings, .. } = begun;
        Ok(Change { control, claiming, caller, now, tx, ceilings })
    }
}

impl Change {
    /// The settings of the control plane.
    pub(crate) fn settings(&self) -> &ControlSettings {
        &self.control.settings
    }

    /// Appends an entry to the audit log.
    pub(crate) fn audit(
        &mut self,
        action: &str,
        object: Object,
        before: Option<Value>,
        after: Option<Value>,
    ) {
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
        self.tx.audit().append(&entry);
    }

    /// Commits the intent of a change before its effect outside of the database. Until the change is continued and answered,
    /// repeats get a conflict with this sentence.
    pub(crate) async fn commit_intent(
        mut self,
        to_repeats: String,
    ) -> Result<Intent, ControlError> {
        let refusal = Value::String(to_repeats);
        self.claiming.finish(&mut self.tx, StatusCode::CONFLICT, &refusal);
        self.tx.commit().await?;
        Ok(Intent { control: self.control, claiming: self.claiming, caller: self.caller })
    }

    /// Commits the entries of a change whose effect failed. A repeat of the request tries again.
    pub(crate) async fn commit_failure(mut self) -> Result<(), ControlError> {
        self.claiming.release(&mut self.tx).await?;
        Ok(self.tx.commit().await?)
    }

    /// Commits and answers with this body, now and for repeats. A field `rulebook_version` gets the version from which gates
    /// serve the change.
    pub(crate) async fn answer(
        self,
        status: StatusCode,
        body: &impl Serialize,
    ) -> Result<Response, ControlError> {
        let mut body = to_value(body)?;
        let retained = body.clone();
        self.commit(status, &retained, &mut body).await?;
        Ok(answer(status, &body))
    }

    /// Commits and answers with a body that is shown once. Repeats get a conflict with this sentence.
    pub(crate) async fn answer_once(
        self,
        status: StatusCode,
        shown: &impl Serialize,
        to_repeats: String,
    ) -> Result<Response, ControlError> {
        let mut shown = to_value(shown)?;
        self.commit(StatusCode::CONFLICT, &Value::String(to_repeats), &mut shown).await?;
        Ok(answer(status, &shown))
    }

    /// Commits and answers without a body.
    pub(crate) async fn done(self) -> Result<Response, ControlError> {
        self.commit(StatusCode::NO_CONTENT, &Value::Null, &mut Value::Null).await?;
        Ok(StatusCode::NO_CONTENT.into_response())
    }

    /// Retains an answer for repeats, publishes and commits. The version goes into the retained answer and into `shown`.
    async fn commit(
        mut self,
        status: StatusCode,
        retained: &Value,
        shown: &mut Value,
    ) -> Result<(), ControlError> {
        self.claiming.finish(&mut self.tx, status, retained);
        let version = self.tx.publish(self.caller.tenant_id, self.claiming.key()).await?;
        self.control.announce(version);
        if let (Some(version), Some(field)) = (version, shown.get_mut("rulebook_version")) {
            *field = version.into();
        }
        Ok(())
    }
}
