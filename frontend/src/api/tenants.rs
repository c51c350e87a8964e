//! Tenants, their gates and the tester.

use gloo_net::http::Method;
use weir_wire::check::CheckBody;
use weir_wire::namespaces::{NamespaceAnswer, NamespaceBody};
use weir_wire::page::Page;
use weir_wire::replicas::{Replicas, Rollouts};
use weir_wire::tenants::{CreateTenant, DeleteTenant, Enforcement, Tenant, UpdateTenant};
use weir_wire::tester::TestAnswer;
use weir_wire::views::{ViewsAnswer, ViewsBody};

use super::request::Call;
use super::{Answer, Api};

impl Api {
    pub fn create_tenant(self, name: &str) -> Answer<Tenant> {
        let body = CreateTenant { name: name.to_owned() };
        self.create("/tenants".to_owned(), &body)
    }

    pub fn tenant(self, tenant: &str) -> Answer<Tenant> {
        self.read(format!("/tenants/{tenant}"))
    }

    pub fn rename_tenant(self, tenant: &str, name: &str) -> Answer<Tenant> {
        let body = UpdateTenant { name: Some(name.to_owned()), ..UpdateTenant::default() };
        self.call(Call::new(Method::PATCH, format!("/tenants/{tenant}")).body(&body))
    }

    /// Sets the attribute that names the tenant's customers; `None` takes it away.
    pub fn set_customer_attribute(self, tenant: &str, attribute: Option<String>) -> Answer<Tenant> {
        let body = UpdateTenant { customer_attribute: Some(attribute), ..UpdateTenant::default() };
        self.call(Call::new(Method::PATCH, format!("/tenants/{tenant}")).body(&body))
    }

    /// Turns the tenant's limits on or off.
    pub fn set_enforcement(self, tenant: &str, enforcement: Enforcement) -> Answer<Tenant> {
        let body = UpdateTenant { enforcement: Some(enforcement), ..UpdateTenant::default() };
        self.call(Call::new(Method::PATCH, format!("/tenants/{tenant}")).body(&body))
    }

    /// Deletes a tenant; the API requires its name as confirmation, because deletion cannot be undone.
    pub fn delete_tenant(self, tenant: &str, name: &str) -> Answer<()> {
        let body = DeleteTenant { name: name.to_owned() };
        self.call(Call::new(Method::DELETE, format!("/tenants/{tenant}")).body(&body))
    }

    /// The first namespaces that have rules or settings.
    pub fn namespaces(self, tenant: &str) -> Answer<Page<NamespaceAnswer>> {
        self.read(format!("/tenants/{tenant}/namespaces?limit=200"))
    }

    /// Replaces the settings of a namespace if their revision is still current; fails with `stale` otherwise.
    pub fn set_namespace(
        self,
        tenant: &str,
        before: &NamespaceAnswer,
        body: &NamespaceBody,
    ) -> Answer<NamespaceAnswer> {
        let path = format!("/tenants/{tenant}/namespaces/{}", before.name);
        self.call(Call::new(Method::PUT, path).if_match(before.revision).body(body))
    }

    /// The views of lists that the members share.
    pub fn views(self, tenant: &str) -> Answer<ViewsAnswer> {
        self.read(format!("/tenants/{tenant}/views"))
    }

    /// Replaces the views if their revision is still current; fails with `stale` otherwise.
    pub fn set_views(self, tenant: &str, views: ViewsAnswer) -> Answer<ViewsAnswer> {
        let ViewsAnswer { views, revision } = views;
        let call = Call::new(Method::PUT, format!("/tenants/{tenant}/views"));
        self.call(call.if_match(revision).body(&ViewsBody { views }))
    }

    pub fn replicas(self, tenant: &str) -> Answer<Replicas> {
        self.read(format!("/tenants/{tenant}/replicas"))
    }

    /// Evaluates a check against each rule without counting it.
    pub fn test(self, tenant: &str, check: &CheckBody) -> Answer<TestAnswer> {
        self.create(format!("/tenants/{tenant}/test"), check)
    }

    /// The latest changes, with the time after which each gate served them.
    pub fn rollouts(self, tenant: &str) -> Answer<Rollouts> {
        self.read(format!("/tenants/{tenant}/replicas/rollouts?limit=50"))
    }
}
