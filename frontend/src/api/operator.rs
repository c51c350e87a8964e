//! Operator settings and the usage of all tenants.

use gloo_net::http::Method;
use weir_wire::accounts::Account;
use weir_wire::ceilings::{CeilingsBody, DefaultCeilings, TenantCeilings};
use weir_wire::page::Page;
use weir_wire::regions::RegionsBody;
use weir_wire::replicas::{Replicas, Rollouts};
use weir_wire::second_factors::{IssueReset, IssuedReset};
use weir_wire::tenants::{Enforcement, InstallationEnforcement, Tenant};
use weir_wire::usage::UsageDay;

use super::request::Call;
use super::{Answer, Api, Problem};
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
    pub fn accounts(self, search: &str, cursor: Option<String>) -> Answer<Page<Account>> {
        let cursor = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        let search = encode_component(search);
        self.read(format!("/operator/accounts?limit=100&search={search}{cursor}"))
    }

    /// Issues a token with which a person sets a new password.
    pub fn issue_reset(self, email: &str) -> Answer<IssuedReset> {
        let body = IssueReset { email: email.to_owned() };
        self.create("/operator/password-resets".to_owned(), &body)
    }

    /// The ceilings of tenants without values of their own.
    pub fn default_ceilings(self) -> Answer<DefaultCeilings> {
        self.read("/operator/ceilings".to_owned())
    }

    /// Replaces the default ceilings; a value that is not set returns to the built-in default.
    pub fn set_default_ceilings(self, body: &CeilingsBody) -> Answer<DefaultCeilings> {
        self.call(Call::new(Method::PUT, "/operator/ceilings".to_owned()).body(body))
    }

    /// The ceilings of one tenant.
    pub fn tenant_ceilings(self, tenant: &str) -> Answer<TenantCeilings> {
        self.read(format!("/operator/tenants/{tenant}/ceilings"))
    }

    /// Replaces the ceilings of one tenant; a value that is not set returns to the default.
    pub fn set_tenant_ceilings(self, tenant: &str, body: &CeilingsBody) -> Answer<TenantCeilings> {
        let path = format!("/operator/tenants/{tenant}/ceilings");
        self.call(Call::new(Method::PUT, path).body(body))
    }

    /// One page of the usage by day and tenant since a day, oldest first.
    pub fn usage(self, from: &str, cursor: Option<String>) -> Answer<Page<UsageDay>> {
        let cursor = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        self.read(format!("/operator/usage?limit=200&from={from}{cursor}"))
    }

    /// The whole usage as CSV.
    pub fn usage_table(self, from: &str) -> Answer<String> {
        let path = format!("/operator/usage?format=csv&from={from}");
        self.fetch(Call::new(Method::GET, path))
    }

    /// The gates, each with its load.
    pub fn all_replicas(self) -> Answer<Replicas> {
        self.read("/operator/replicas".to_owned())
    }

    /// The latest changes of all tenants, with the time after which each gate served them.
    pub fn all_rollouts(self) -> Answer<Rollouts> {
        self.read("/operator/replicas/rollouts?limit=50".to_owned())
    }

    /// The regions of the installation.
    pub fn regions(self) -> Answer<RegionsBody> {
        self.read("/operator/regions".to_owned())
    }

    /// Replaces the regions of the installation.
    pub fn set_regions(self, body: &RegionsBody) -> Answer<RegionsBody> {
        self.call(Call::new(Method::PUT, "/operator/regions".to_owned()).body(body))
    }

    /// Whether limits are on for the installation.
    pub fn installation_enforcement(self) -> Answer<InstallationEnforcement> {
        self.read("/operator/enforcement".to_owned())
    }

    /// Turns the limits of every tenant on or off.
    pub fn set_installation_enforcement(
        self,
        enforcement: Enforcement,
    ) -> Answer<InstallationEnforcement> {
        let body = InstallationEnforcement { enforcement };
        self.call(Call::new(Method::PUT, "/operator/enforcement".to_owned()).body(&body))
    }
}
