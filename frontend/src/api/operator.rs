//! What operators read and set for all tenants.

use gloo_net::http::Method;
use weir_wire::page::Page;
use weir_wire::tenants::{Enforcement, InstallationEnforcement};
use weir_wire::usage::UsageDay;

use super::request::Call;
use super::{Api, Problem};

impl Api {
    /// One page of what tenants used since a day, oldest first.
    pub async fn usage(
        self,
        from: &str,
        cursor: Option<String>,
    ) -> Result<Page<UsageDay>, Problem> {
        let cursor = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        self.read(format!("/operator/usage?limit=200&from={from}{cursor}")).await
    }

    /// The same as a table, all of it.
    pub async fn usage_table(self, from: &str) -> Result<String, Problem> {
        let path = format!("/operator/usage?format=csv&from={from}");
        self.fetch(Call::new(Method::GET, path)).await
    }

    /// Whether limits hold at all.
    pub async fn installation_enforcement(self) -> Result<InstallationEnforcement, Problem> {
        self.read("/operator/enforcement".to_owned()).await
    }

    /// Turns the limits of every tenant on or off.
    pub async fn set_installation_enforcement(
        self,
        enforcement: Enforcement,
    ) -> Result<InstallationEnforcement, Problem> {
        let body = InstallationEnforcement { enforcement };
        self.call(Call::new(Method::PUT, "/operator/enforcement".to_owned()).body(&body)).await
    }
}
