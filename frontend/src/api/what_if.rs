//! What-if runs and the recorded checks that they replay.

use gloo_net::http::Method;
use weir_wire::simulate::{Recorded, SimulateAnswer, SimulateBody};
use weir_wire::suggest::{SuggestAnswer, SuggestBody};
use weir_wire::tenants::{Tenant, UpdateTenant};

use super::request::Call;
use super::{Api, Problem};

impl Api {
    /// Replays checks against a changed rule. Nothing is counted or stored.
    pub async fn simulate(
        self,
        tenant: &str,
        body: &SimulateBody,
    ) -> Result<SimulateAnswer, Problem> {
        self.create(format!("/tenants/{tenant}/simulate"), body).await
    }

    /// The smallest limit that would have denied few of the recorded subjects.
    pub async fn suggest_limit(
        self,
        tenant: &str,
        body: &SuggestBody,
    ) -> Result<SuggestAnswer, Problem> {
        self.create(format!("/tenants/{tenant}/rules/suggest"), body).await
    }

    /// How many checks each namespace has recorded.
    pub async fn recorded(self, tenant: &str) -> Result<Recorded, Problem> {
        self.read(format!("/tenants/{tenant}/recorded")).await
    }

    /// Turns the recording of checks on or off.
    pub async fn set_recording(self, tenant: &str, on: bool) -> Result<Tenant, Problem> {
        let body = UpdateTenant { name: None, record_checks: Some(on), enforcement: None };
        self.call(Call::new(Method::PATCH, format!("/tenants/{tenant}")).body(&body)).await
    }
}
