//! The pages for operators: the switch for all limits, ceilings, and the usage of all tenants; the gates; and the regions.

mod accounts;
mod ceilings;
mod frame;
mod gates;
mod regions;
mod usage;

use leptos::prelude::*;
use weir_wire::tenants::{Enforcement, InstallationEnforcement};

use crate::api::Api;
use crate::components::dialog::ConfirmByName;
use crate::components::feedback::SubmitProblem;
use crate::components::remote_data::{fetch_data, show};
use crate::components::submit::SubmitAction;
use accounts::Accounts;
use ceilings::Ceilings;
use frame::OperatorFrame;
pub use gates::OperatorGates;
pub use regions::OperatorRegions;
use usage::Usage;

/// The settings and the usage of the installation.
#[component]
pub fn Operator() -> impl IntoView {
    view! {
        <OperatorFrame
            title="Operator"
            lead="Settings and usage of all tenants of this installation"
        >
            <Limits />
            <Ceilings />
            <Usage />
            <Accounts />
        </OperatorFrame>
    }
}

/// The switch for the limits of every tenant.
#[component]
fn Limits() -> impl IntoView {
    let api = expect_context::<Api>();
    let action = SubmitAction::new();
    let open = RwSignal::new(false);
    let current = fetch_data(move || api.installation_enforcement());
    let set = move |enforcement: Enforcement| {
        action.run(api.set_installation_enforcement(enforcement), move |_| current.refetch());
    };
    let turn_off = Callback::new(move |()| set(Enforcement::Off));
    let consequence = "All gates allow every check of every tenant within a second, including those that a deny rule matches. Nothing \
                       is counted, and every page of every tenant shows a banner until limits are turned on again.";
    let body = move |current: InstallationEnforcement| {
        if current.enforcement.is_on() {
            view! {
                <p role="status">"Limits are on."</p>
                <button type="button" class="button danger" disabled=action.busy on:click=move |_| open.set(true)>"Turn limits off for every tenant…"</button>
            }
            .into_any()
        } else {
            view! {
                <div class="problem" role="alert">
                    <p class="problem-title">"Limits are off for every tenant"</p>
                    <p>"Every check is allowed."</p>
                </div>
                <button type="button" class="button" disabled=action.busy on:click=move |_| set(Enforcement::On)>"Turn limits on"</button>
            }
            .into_any()
        }
    };
    view! {
        <section class="panel" aria-label="Limits of every tenant">
            <h2>"Limits of every tenant"</h2>
            <SubmitProblem problem=action.problem />
            {show(current, body)}
            <ConfirmByName
                title="Turn the limits of every tenant off?"
                consequence
                name="every tenant"
                action="Turn limits off"
                open
                on_confirm=turn_off
            />
        </section>
    }
}
