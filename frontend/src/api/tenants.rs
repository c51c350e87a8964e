//! Tenants, their gates and the tester.

use weir_wire::check::CheckBody;
use weir_wire::replicas::Replicas;
use weir_wire::tenants::{CreateTenant, Tenant};
use weir_wire::tester::TestAnswer;

use super::{Api, Problem};

impl Api {
    pub async fn create_tenant(self, name: &str) -> Result<Tenant, Problem> {
        let body = CreateTenant { name: name.to_owned() };
        self.create("/tenants".to_owned(), &body).await
    }

    pub async fn replicas(self, tenant: &str) -> Result<Replicas, Problem> {
        self.read(format!("/tenants/{tenant}/replicas")).await
    }

    /// How each rule would meet a check; nothing is counted.
    pub async fn test(self, tenant: &str, check: &CheckBody) -> Result<TestAnswer, Problem> {
        self.create(format!("/tenants/{tenant}/test"), check).await
    }
}
