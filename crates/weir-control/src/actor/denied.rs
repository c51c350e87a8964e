//! Denials in the audit log: who asked for what they may not have.
//!
//! At most ten a minute of each caller, so that nobody can fill the log, and never in the way of the answer.

use weir_domain::id::{AuditId, TenantId, UserId};
use weir_store::{Actor, NewAudit, Scope};

use crate::actor::Origin;
use crate::error::ControlError;
use crate::login_floor::Attempt;
use crate::state::ControlState;

/// Whose log a denial belongs into.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Log {
    /// The tenant's, for its own members and keys.
    Tenant(TenantId),
    /// The person's own.
    Own(UserId),
}

/// A denial that is to be recorded.
#[derive(Debug)]
pub(crate) struct Denial<'a> {
    pub(crate) log: Log,
    pub(crate) actor: Actor,
    /// The method and path that were asked for.
    pub(crate) operation: String,
    pub(crate) origin: &'a Origin,
}

impl Denial<'_> {
    /// Records it; a failure is logged and nothing else.
    pub(crate) async fn record(self, control: &ControlState) {
        let caller = match &self.actor {
            Actor::Person { id, .. } => id.to_string(),
            Actor::Key { id, .. } => id.to_string(),
            Actor::System => return,
        };
        let attempt = Attempt::new(&format!("denied {caller}"), None);
        if control.login_floor.admit(&attempt, control.clock.now()).is_err() {
            return;
        }
        if let Err(ControlError::Store(error)) = self.write(control).await {
            tracing::warn!(%error, caller, "could not record a denial");
        }
    }

    async fn write(self, control: &ControlState) -> Result<(), ControlError> {
        let (tenant_id, scope) = match self.log {
            Log::Tenant(tenant_id) => (Some(tenant_id), Scope::Tenant(tenant_id)),
            Log::Own(user_id) => (None, Scope::User(user_id)),
        };
        let mut tx = control.store.begin("audit.denied", scope).await?;
        let entry = NewAudit {
            id: control.id(AuditId::new),
            tenant_id,
            actor: self.actor,
            action: "access.denied".to_owned(),
            object_kind: "operation".to_owned(),
            object_id: self.operation,
            before: None,
            after: None,
            ip: self.origin.ip(),
            request_id: self.origin.request_id.clone(),
            at: control.clock.now(),
        };
        tx.audit().append(&entry).await?;
        Ok(tx.commit().await?)
    }
}
