//! Notices about the whole tenant: suspended, or limits switched off.

use leptos::prelude::*;
use weir_wire::sessions::Membership;

use super::tenant::TenantId;
use crate::components::control_flow::Show;
use crate::components::feedback::Warning;

#[component]
pub(super) fn Notices(membership: Memo<Option<Membership>>) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let holds = move |condition: fn(&Membership) -> bool| {
        move || membership.with(|membership| membership.as_ref().is_some_and(condition))
    };
    view! {
        <Show when=holds(|membership| membership.suspended)>
            <Warning>"This tenant is suspended. Checks are denied and changes are disabled."</Warning>
        </Show>
        <Show when=holds(|membership| !membership.installation_enforcement.is_on())>
            <div class="problem" role="alert">
                <p class="problem-title">"Limits are off for every tenant"</p>
                <p>"An operator turned limits off. Every check is allowed, and nothing is counted."</p>
            </div>
        </Show>
        <Show when=holds(|membership| !membership.enforcement.is_on())>
            <div class="problem" role="alert">
                <p class="problem-title">"Limits are off"</p>
                <p>"Every check of this tenant is allowed, and nothing is counted. "<a href=move || tenant.page("settings")>"Turn limits on in Settings"</a>"."</p>
            </div>
        </Show>
    }
}
