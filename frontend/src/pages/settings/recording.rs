//! The switch for recording checks, which what-if runs replay.

use leptos::prelude::*;
use weir_wire::simulate::Recorded;
use weir_wire::tenants::Role;

use crate::api::Api;
use crate::components::feedback::SubmitProblem;
use crate::components::remote_data::{fetch_data, show};
use crate::components::require_role::RequireRole;
use crate::components::submit::SubmitAction;
use crate::pages::shell::TenantId;

#[component]
pub(super) fn Recording() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let action = SubmitAction::new();
    let recorded = fetch_data(move || api.recorded(&tenant.get()));
    let switch = Callback::new(move |on: bool| {
        action.run(api.set_recording(&tenant.now(), on), move |_| {
            recorded.refetch();
        });
    });
    let body = move |recorded: Recorded| {
        let on = recorded.recording;
        let status = if on { "Recording is on." } else { "Recording is off." };
        let button = if on { "Stop recording" } else { "Start recording" };
        view! {
            <p role="status">{status}</p>
            <RequireRole role=Role::Admin>
                <SubmitProblem problem=action.problem />
                <button type="button" class="button" disabled=action.busy on:click=move |_| switch.run(!on)>{button}</button>
            </RequireRole>
        }
    };
    view! {
        <section class="panel" aria-label="Recorded checks">
            <h3>"Recorded checks"</h3>
            <p class="note">
                "Replays use recorded checks. Gates record the attributes that your rules use and keep them for 24 hours. \
                 Turning this off stops recording; existing data expires within a day."
            </p>
            {show(recorded, body)}
        </section>
    }
}
