//! The audit log.

use weir_wire::audit::AuditEntry;
use weir_wire::page::Page;

use super::{Api, Problem};
use crate::browser::encoded;

impl Api {
    /// One page of what was done in a tenant, newest first, as far as parameters of a query want it.
    pub async fn audit(
        self,
        tenant: &str,
        wanted: &[(&'static str, String)],
        cursor: Option<String>,
    ) -> Result<Page<AuditEntry>, Problem> {
        let mut path = format!("/tenants/{tenant}/audit?limit=50");
        let cursor = cursor.map(|cursor| ("cursor", cursor));
        for (name, value) in wanted.iter().chain(&cursor) {
            path.extend(["&", name, "=", &encoded(value)]);
        }
        self.read(path).await
    }
}
