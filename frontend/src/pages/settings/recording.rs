//! Whether gates record checks, for what-if runs.

use leptos::prelude::*;
use weir_wire::simulate::Recorded;
use weir_wire::tenants::Role;

use crate::api::Api;
use crate::components::act::Act;
use crate::components::feedback::ActProblem;
use crate::components::load::{load, loaded};
use crate::components::needs::Needs;
use crate::pages::shell::TenantId;

/// The switch.
#[component]
pub(super) fn Recording() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let act = Act::new();
    let recorded = load(move || {
        let tenant = tenant.get();
        async move { api.recorded(&tenant).await }
    });
    let switch = Callback::new(move |on: bool| {
        act.run(async move { api.set_recording(&tenant.now(), on).await }, move |_| {
            recorded.again();
        });
    });
    let body = move |it: Recorded| {
        let on = it.recording;
        let said = if on { "Gates record checks." } else { "Gates do not record checks." };
        let button = if on { "Stop recording" } else { "Record checks" };
        view! {
            <p role="status">{said}</p>
            <Needs role=Role::Admin>
                <ActProblem problem=act.problem />
                <button type="button" class="button" disabled=act.busy on:click=move |_| switch.run(!on)>{button}</button>
            </Needs>
        }
    };
    view! {
        <section class="panel" aria-label="Recorded checks">
            <h2>"Recorded checks"</h2>
            <p class="note">
                "So that a changed rule can be tried on the checks there were (What-if), gates keep the attributes that your rules look at, \
                 for 24 hours. When this is turned off, what is there goes with its age."
            </p>
            {loaded(recorded, body)}
        </section>
    }
}
