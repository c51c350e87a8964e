//! Operator settings and the usage of all tenants.

use gloo_net::http::Method;
use weir_wire::accounts::Account;
use weir_wire::ceilings::{CeilingsBody, DefaultCeilings, TenantCeilings};
use weir_wire::page::Page;
use weir_wire::replicas::{Replicas, Rollouts};
use weir_wire::second_factors::{IssueReset, IssuedReset};
use weir_wire::tenants::{Enforcement, InstallationEnforcement, Tenant};
use weir_wire::usage::UsageDay;

use super::request::Call;
use super::{Api, Problem};
use crate::browser::encode_component;

impl Api {
    /// All tenants of the installation.
    pub async fn all_tenants(self) -> Result<Vec<Tenant>, Problem> {
        let (mut tenants, mut cursor) = (Vec::new(), String::new());
        loop {
            let page: Page<Tenant> =
                self.read(format!("/operator/tenants?limit=200{cursor}")).await?;
            tenants.extend(page.data);
            let Some(next) = page.next_cursor else { return Ok(tenants) };
            cursor = format!("&cursor={}", encode_component(&next));
        }
    }

    /// One page of the accounts whose address or name contains this text.
    pub async fn accounts(
        self,
        search: &str,
        cursor: Option<String>,
    ) -> Result<Page<Account>, Problem> {
        let cursor = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        let search = encode_component(search);
        self.read(format!("/operator/accounts?limit=100&search={search}{cursor}")).await
    }

    /// Issues a token with which a person sets a new password.
    pub async fn issue_reset(self, email: &str) -> Result<IssuedReset, Problem> {
        let body = IssueReset { email: email.to_owned() };
        self.create("/operator/password-resets".to_owned(), &body).await
    }

    /// The ceilings of tenants without values of their own.
    pub async fn default_ceilings(self) -> Result<DefaultCeilings, Problem> {
        self.read("/operator/ceilings".to_owned()).await
    }

    /// Replaces the default ceilings; a value that is not set returns to the built-in default.
    pub async fn set_default_ceilings(
        self,
        body: &CeilingsBody,
    ) -> Result<DefaultCeilings, Problem> {
        self.call(Call::new(Method::PUT, "/operator/ceilings".to_owned()).body(body)).await
    }

    /// The ceilings of one tenant.
    pub async fn tenant_ceilings(self, tenant: &str) -> Result<TenantCeilings, Problem> {
        self.read(format!("/operator/tenants/{tenant}/ceilings")).await
    }

    /// Replaces the ceilings of one tenant; a value that is not set returns to the default.
    pub async fn set_tenant_ceilings(
        self,
        tenant: &str,
        body: &CeilingsBody,
    ) -> Result<TenantCeilings, Problem> {
        let path = format!("/operator/tenants/{tenant}/ceilings");
        self.call(Call::new(Method::PUT, path).body(body)).await
    }

    /// One page of the usage by day and tenant since a day, oldest first.
    pub async fn usage(
        self,
        from: &str,
        cursor: Option<String>,
    ) -> Result<Page<UsageDay>, Problem> {
        let cursor = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        self.read(format!("/operator/usage?limit=200&from={from}{cursor}")).await
    }

    /// The whole usage as CSV.
    pub async fn usage_table(self, from: &str) -> Result<String, Problem> {
        let path = format!("/operator/usage?format=csv&from={from}");
        self.fetch(Call::new(Method::GET, path)).await
    }

    /// The gates, each with its load.
    pub async fn all_replicas(self) -> Result<Replicas, Problem> {
        self.read("/operator/replicas".to_owned()).await
    }

    /// The latest changes of all tenants, with the time after which each gate served them.
    pub async fn all_rollouts(self) -> Result<Rollouts, Problem> {
        self.read("/operator/replicas/rollouts?limit=50".to_owned()).await
    }

    /// Whether limits are on for the installation.
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
