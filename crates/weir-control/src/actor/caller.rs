//! A caller whose rights in a tenant are known.

use weir_domain::id::TenantId;
use weir_store::{Actor, MemberRole};

use crate::actor::denials::Log;
use crate::actor::denied::Denial;
use crate::actor::namespaces::Namespaces;
use crate::actor::origin::Origin;
use crate::state::ControlState;

/// A caller and its tenant.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) tenant_id: TenantId,
    pub(crate) actor: Actor,
    pub(crate) role: MemberRole,
    /// Whether the caller is an operator of the installation. No key is.
    pub(crate) operator: bool,
    /// The namespaces in which the caller has the role.
    pub(crate) namespaces: Namespaces,
    pub(crate) suspended: bool,
    /// The method and path of the request.
    pub(crate) operation: String,
    pub(crate) origin: Origin,
}

impl Caller {
    /// Records that the operation of the request was denied to this caller.
    pub(crate) async fn denied(&self, control: &ControlState) {
        let log = Log::Tenant(self.tenant_id);
        let actor = self.actor.clone();
        let operation = self.operation.clone();
        Denial { log, actor, operation, origin: &self.origin }.record(control).await;
    }
}
