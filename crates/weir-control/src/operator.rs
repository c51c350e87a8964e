//! Operations of operators on all tenants. To other callers they do not exist.

use serde_json::Value;
use weir_domain::id::{AuditId, TenantId};
use weir_store::{NewAudit, Tx};

use crate::actor::Person;
use crate::state::ControlState;

pub(crate) mod accounts;
pub(crate) mod ceilings;
pub(crate) mod defaults;
pub(crate) mod enforcement;
pub(crate) mod gates;
pub(crate) mod issue_reset;
pub(crate) mod list;
pub(crate) mod regions;
pub(crate) mod suspend;
pub(crate) mod usage;

/// An entry of the audit log about an operation of an operator.
pub(crate) struct Entry {
    /// The tenant of the entry. `None` if it concerns all tenants; it is then in the operator's own log.
    pub(crate) tenant_id: Option<TenantId>,
    pub(crate) action: &'static str,
    pub(crate) object_kind: &'static str,
    pub(crate) object_id: String,
    pub(crate) before: Value,
    pub(crate) after: Value,
}

impl Entry {
    /// Writes the entry as part of the change.
    pub(crate) fn append(self, control: &ControlState, tx: &mut Tx, person: &Person) {
        let entry = NewAudit {
            id: control.id(AuditId::new),
            tenant_id: self.tenant_id,
            actor: person.actor(),
            action: self.action.to_owned(),
            object_kind: self.object_kind.to_owned(),
            object_id: self.object_id,
            before: Some(self.before),
            after: Some(self.after),
            ip: person.origin.ip(),
            request_id: person.origin.request_id.clone(),
        };
        tx.audit().append(&entry);
    }
}
