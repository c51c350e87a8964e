//! The switch for all limits of the tenant.

use leptos::prelude::*;
use weir_wire::sessions::Me;
use weir_wire::tenants::{Enforcement, Role};

use crate::api::Api;
use crate::components::control_flow::Show;
use crate::components::dialog::ConfirmByName;
use crate::components::feedback::SubmitProblem;
use crate::components::remote_data::RemoteData;
use crate::components::require_role::RequireRole;
use crate::components::submit::SubmitAction;
use crate::pages::shell::TenantId;

/// The switch. Turning limits off requires the tenant's name as confirmation; turning them on does not.
#[component]
pub(super) fn Limits(name: String, me: RemoteData<Me>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let action = SubmitAction::new();
    let open = RwSignal::new(false);
    let is_on = Memo::new(move |_| {
        let id = tenant.get();
        let here = |me: Me| me.memberships.into_iter().find(|row| row.tenant_id == id);
        me.data().and_then(here).is_none_or(|row| row.enforcement.is_on())
    });
    let set = move |enforcement: Enforcement| {
        action.run(api.set_enforcement(&tenant.now(), enforcement), move |_| {
            me.refetch();
        });
    };
    let turn_off = Callback::new(move |()| set(Enforcement::Off));
    let consequence = "All gates allow every check within a second, including those that a deny rule matches. Nothing is counted, \
                       and every page shows a banner until limits are turned on again.";
    view! {
        <section class="panel" aria-label="Limits">
            <h3>"Limits"</h3>
            <p role="status">{move || if is_on.get() { "Limits are on." } else { "Limits are off: every check is allowed." }}</p>
            <RequireRole role=Role::Admin>
                <SubmitProblem problem=action.problem />
                <Show
                    when=move || is_on.get()
                    fallback=move || view! {
                        <button type="button" class="button" disabled=action.busy on:click=move |_| set(Enforcement::On)>"Turn limits on"</button>
                    }
                >
                    <button type="button" class="button danger" disabled=action.busy on:click=move |_| open.set(true)>"Turn limits off…"</button>
                </Show>
            </RequireRole>
            <ConfirmByName title="Turn all limits off?" consequence name action="Turn limits off" open on_confirm=turn_off />
        </section>
    }
}
