//! What-if runs and the recorded checks that they replay.

use futures_util::FutureExt as _;
use futures_util::lock::Mutex;
use gloo_net::http::Method;
use weir_wire::simulate::{Recorded, SimulateAnswer, SimulateBody};
use weir_wire::suggest::{SuggestAnswer, SuggestBody};
use weir_wire::tenants::{Tenant, UpdateTenant};

use super::request::Call;
use super::{Answer, Api, Problem};

/// A tenant's ceiling permits one replay at a time, so those of this tab wait for each other.
static TURN: Mutex<()> = Mutex::new(());

fn in_turn<T: 'static>(answer: Answer<T>) -> Answer<T> {
    async move {
        let _turn = TURN.lock().await;
        answer.await.map_err(Problem::of_replay)
    }
    .boxed_local()
}

impl Api {
    /// Replays checks against a changed rule. Nothing is counted or stored.
    pub fn simulate(self, tenant: &str, body: &SimulateBody) -> Answer<SimulateAnswer> {
        in_turn(self.create(format!("/tenants/{tenant}/simulate"), body))
    }

    /// The smallest limit that would have denied few of the recorded subjects.
    pub fn suggest_limit(self, tenant: &str, body: &SuggestBody) -> Answer<SuggestAnswer> {
        in_turn(self.create(format!("/tenants/{tenant}/rules/suggest"), body))
    }

    /// How many checks each namespace has recorded.
    pub fn recorded(self, tenant: &str) -> Answer<Recorded> {
        self.read(format!("/tenants/{tenant}/recorded"))
    }

    /// Turns the recording of checks on or off.
    pub fn set_recording(self, tenant: &str, on: bool) -> Answer<Tenant> {
        let body = UpdateTenant { record_checks: Some(on), ..UpdateTenant::default() };
        self.call(Call::new(Method::PATCH, format!("/tenants/{tenant}")).body(&body))
    }
}
