//! The switch that turns all limits of the tenant off.

use leptos::prelude::*;
use weir_wire::sessions::Me;
use weir_wire::tenants::{Enforcement, Role};

use crate::api::Api;
use crate::components::act::Act;
use crate::components::dialog::ConfirmByName;
use crate::components::feedback::ActProblem;
use crate::components::load::Load;
use crate::components::needs::Needs;
use crate::pages::shell::TenantId;

/// The switch. Turning limits off asks for the tenant's name; turning them on does not.
#[component]
pub(super) fn Limits(name: String, me: Load<Me>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let act = Act::new();
    let open = RwSignal::new(false);
    let is_on = Memo::new(move |_| {
        let id = tenant.get();
        let here = |me: Me| me.memberships.into_iter().find(|row| row.tenant_id == id);
        me.data().and_then(here).is_none_or(|row| row.enforcement.is_on())
    });
    let set = move |enforcement: Enforcement| {
        act.run(async move { api.set_enforcement(&tenant.now(), enforcement).await }, move |_| {
            me.again();
        });
    };
    let turn_off = Callback::new(move |()| set(Enforcement::Off));
    let consequence = "Within a second every gate allows every check, deny rules included. Nothing is counted against a \
                       limit, and everybody sees a banner on each page until limits are on again.";
    view! {
        <section class="panel" aria-label="Limits">
            <h2>"Limits"</h2>
            <p role="status">{move || if is_on.get() { "Limits are on." } else { "Limits are off: every check is allowed." }}</p>
            <Needs role=Role::Admin>
                <ActProblem problem=act.problem />
                <Show
                    when=move || is_on.get()
                    fallback=move || view! {
                        <button type="button" class="button" disabled=act.busy on:click=move |_| set(Enforcement::On)>"Turn limits on"</button>
                    }
                >
                    <button type="button" class="button danger" disabled=act.busy on:click=move |_| open.set(true)>"Turn limits off…"</button>
                </Show>
            </Needs>
            <ConfirmByName title="Turn all limits off?" consequence name act="Turn limits off" open on_confirm=turn_off />
        </section>
    }
}
