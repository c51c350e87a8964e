//! Tenants, their gates and the tester.

use gloo_net::http::Method;
use weir_wire::check::CheckBody;
use weir_wire::namespaces::{NamespaceAnswer, NamespaceBody};
use weir_wire::page::Page;
use weir_wire::replicas::{Replicas, Rollouts};
use weir_wire::tenants::{CreateTenant, DeleteTenant, Enforcement, Tenant, UpdateTenant};
use weir_wire::tester::TestAnswer;

use super::request::Call;
use super::{Api, Problem};

impl Api {
    pub async fn create_tenant(self, name: &str) -> Result<Tenant, Problem> {
        let body = CreateTenant { name: name.to_owned() };
        self.create("/tenants".to_owned(), &body).await
    }

    pub async fn rename_tenant(self, tenant: &str, name: &str) -> Result<Tenant, Problem> {
        let body =
            UpdateTenant { name: Some(name.to_owned()), record_checks: None, enforcement: None };
        self.call(Call::new(Method::PATCH, format!("/tenants/{tenant}")).body(&body)).await
    }

    /// Turns the tenant's limits on or off.
    pub async fn set_enforcement(
        self,
        tenant: &str,
        enforcement: Enforcement,
    ) -> Result<Tenant, Problem> {
        let body = UpdateTenant { name: None, record_checks: None, enforcement: Some(enforcement) };
        self.call(Call::new(Method::PATCH, format!("/tenants/{tenant}")).body(&body)).await
    }

    /// Deletes a tenant; the API requires its name as confirmation, because deletion cannot be undone.
    pub async fn delete_tenant(self, tenant: &str, name: &str) -> Result<(), Problem> {
        let body = DeleteTenant { name: name.to_owned() };
        self.call(Call::new(Method::DELETE, format!("/tenants/{tenant}")).body(&body)).await
    }

    /// The first namespaces that have rules or settings.
    pub async fn namespaces(self, tenant: &str) -> Result<Page<NamespaceAnswer>, Problem> {
        self.read(format!("/tenants/{tenant}/namespaces?limit=200")).await
    }

    /// Replaces the settings of a namespace if their revision is still current; fails with `stale` otherwise.
    pub async fn set_namespace(
        self,
        tenant: &str,
        before: &NamespaceAnswer,
        body: &NamespaceBody,
    ) -> Result<NamespaceAnswer, Problem> {
        let path = format!("/tenants/{tenant}/namespaces/{}", before.name);
        self.call(Call::new(Method::PUT, path).if_match(before.revision).body(body)).await
    }

    pub async fn replicas(self, tenant: &str) -> Result<Replicas, Problem> {
        self.read(format!("/tenants/{tenant}/replicas")).await
    }

    /// Evaluates a check against each rule without counting it.
    pub async fn test(self, tenant: &str, check: &CheckBody) -> Result<TestAnswer, Problem> {
        self.create(format!("/tenants/{tenant}/test"), check).await
    }

    /// The latest changes, with the time after which each gate served them.
    pub async fn rollouts(self, tenant: &str) -> Result<Rollouts, Problem> {
        self.read(format!("/tenants/{tenant}/replicas/rollouts?limit=50")).await
    }
}
