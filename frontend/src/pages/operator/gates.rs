//! The gates for operators, who can be members of no tenant.

use leptos::prelude::*;

use super::frame::OperatorFrame;
use crate::api::Api;
use crate::components::remote_data::fetch_data;
use crate::pages::gates::GateStates;

/// The state and load of each gate, and the rollouts of the changes of all tenants.
#[component]
pub fn OperatorGates() -> impl IntoView {
    view! {
        <OperatorFrame
            title="Gates"
            lead="Gates of this installation that reported in the last 15 seconds"
        >
            <States />
        </OperatorFrame>
    }
}

#[component]
fn States() -> impl IntoView {
    let api = expect_context::<Api>();
    let replicas = fetch_data(move || api.all_replicas());
    let rollouts = fetch_data(move || api.all_rollouts());
    view! { <GateStates replicas rollouts /> }
}
