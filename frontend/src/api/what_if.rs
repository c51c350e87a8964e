//! What-if runs, and whether there is something to run them on.

use gloo_net::http::Method;
use weir_wire::simulate::{Recorded, SimulateAnswer, SimulateBody};
use weir_wire::tenants::{Tenant, UpdateTenant};

use super::request::Call;
use super::{Api, Problem};

impl Api {
    /// What a changed rule would have decided; nothing is counted or kept.
    pub async fn simulate(
        self,
        tenant: &str,
        body: &SimulateBody,
    ) -> Result<SimulateAnswer, Problem> {
        self.create(format!("/tenants/{tenant}/simulate"), body).await
    }

    /// What gates recorded.
    pub async fn recorded(self, tenant: &str) -> Result<Recorded, Problem> {
        self.read(format!("/tenants/{tenant}/recorded")).await
    }

    /// Whether gates record from now on.
    pub async fn set_recording(self, tenant: &str, on: bool) -> Result<Tenant, Problem> {
        let body = UpdateTenant { name: None, record_checks: Some(on), enforcement: None };
        self.call(Call::new(Method::PATCH, format!("/tenants/{tenant}")).body(&body)).await
    }
}
