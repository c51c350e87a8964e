//! Denials in the audit log: the caller and the refused operation.
//!
//! At most ten denials of each caller per minute get an entry of their own, so that no caller can fill the log. The others
//! are counted, and one entry states their number when the minute is over ([`record_counted`]).

use serde_json::json;
use weir_domain::id::AuditId;
use weir_store::{Actor, NewAudit, Scope};
use weir_wire::time::DateTime;

use crate::actor::denials::Log;
use crate::actor::origin::Origin;
use crate::error::ControlError;
use crate::state::ControlState;

/// A denial to record.
#[derive(Debug)]
pub(crate) struct Denial<'a> {
    pub(crate) log: Log,
    pub(crate) actor: Actor,
    /// The method and path of the request.
    pub(crate) operation: String,
    pub(crate) origin: &'a Origin,
}

impl Denial<'_> {
    /// Records the denial. A failure is only logged.
    pub(crate) async fn record(self, control: &ControlState) {
        if !control.local.denials.admit(&self.actor, self.log, control.clock.now()) {
            return;
        }
        let entry = NewAudit {
            ip: self.origin.ip(),
            request_id: self.origin.request_id.clone(),
            object_id: self.operation,
            ..entry(control, self.log, self.actor)
        };
        write(control, self.log, entry).await;
    }
}

/// Writes the number of denials without an entry of their own, for the minutes that are over or for all.
pub(crate) async fn record_counted(control: &ControlState, all: bool) {
    for minute in control.local.denials.take_counted(control.clock.now(), all) {
        let after = json!({ "count": minute.counted, "since": DateTime::from(minute.begun) });
        let more = NewAudit {
            action: "access.denied_more".to_owned(),
            after: Some(after),
            ..entry(control, minute.log, minute.actor)
        };
        write(control, minute.log, more).await;
    }
}

fn entry(control: &ControlState, log: Log, actor: Actor) -> NewAudit {
    NewAudit {
        id: control.id(AuditId::new),
        tenant_id: log.tenant_id(),
        actor,
        action: "access.denied".to_owned(),
        object_kind: "operation".to_owned(),
        object_id: String::new(),
        before: None,
        after: None,
        ip: None,
        request_id: String::new(),
    }
}

async fn write(control: &ControlState, log: Log, entry: NewAudit) {
    let written: Result<(), ControlError> = async {
        let scope = match log {
            Log::Tenant(tenant_id) => Scope::Tenant(tenant_id),
            Log::Own(user_id) => Scope::User(user_id),
        };
        let mut tx = control.store.begin("audit.denied", scope).await?;
        tx.audit().append(&entry);
        Ok(tx.commit().await?)
    }
    .await;
    if let Err(ControlError::Store(error)) = written {
        tracing::warn!(%error, "could not record a denial");
    }
}
