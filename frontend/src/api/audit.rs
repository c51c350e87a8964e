//! The audit log.

use weir_wire::audit::AuditEntry;
use weir_wire::page::Page;

use super::request::encoded;
use super::{Api, Problem};

impl Api {
    /// One page of what was done in a tenant, newest first.
    pub async fn audit(
        self,
        tenant: &str,
        cursor: Option<&str>,
    ) -> Result<Page<AuditEntry>, Problem> {
        let from = cursor.map(|cursor| format!("?cursor={}", encoded(cursor))).unwrap_or_default();
        self.read(format!("/tenants/{tenant}/audit{from}")).await
    }
}
