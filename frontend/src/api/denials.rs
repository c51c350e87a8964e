//! Who was refused.

use weir_wire::stats::Denials;

use super::{Api, Problem};

impl Api {
    /// The newest of a tenant.
    pub async fn recent_denials(self, tenant: &str) -> Result<Denials, Problem> {
        self.read(format!("/tenants/{tenant}/stats/denials?limit=50")).await
    }
}
