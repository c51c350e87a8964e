//! Plans: other limits for all customers that are on them.

mod form;
mod planned_rule;
mod revisions;
mod state;
mod table;

use futures_util::FutureExt as _;
use leptos::prelude::*;
use weir_wire::plans::PlanAnswer;
use weir_wire::tenants::Role;

use crate::api::Api;
use crate::components::control_flow::Show;
use crate::components::dialog::Drawer;
use crate::components::page::PageHeader;
use crate::components::remote_data::{fetch_data, show_table};
use crate::components::require_role::RoleButton;
use crate::pages::customer_attribute::{NoCustomerAttribute, PlansOfCustomers, plans_of_customers};
use crate::pages::shell::TenantId;
use form::PlanForm;
use revisions::PlanRevisions;
use state::{OpenPlan, PlansState};
use table::PlanTable;

#[component]
pub fn Plans() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let plans = fetch_data(move || {
        let tenant = tenant.get();
        async move { plans_of_customers(api, &tenant).await }.boxed_local()
    });
    let state = PlansState {
        changed: Callback::new(move |()| plans.refetch()),
        open: RwSignal::new(OpenPlan::Nothing),
    };
    let has_attribute = Memo::new(move |_| plans.data().flatten().is_some());
    let body = move |plans: Option<PlansOfCustomers>| match plans {
        Some((attribute, plans)) => view! { <Body attribute plans state /> }.into_any(),
        None => view! { <NoCustomerAttribute done=state.changed /> }.into_any(),
    };
    view! {
        <PageHeader title="Plans" lead="Other limits for all customers that are on them.">
            <Show when=move || has_attribute.get()>
                <RoleButton role=Role::Editor text="New plan" class="button primary" on_press=move |()| state.open.set(OpenPlan::New) />
            </Show>
        </PageHeader>
        {show_table(plans, body)}
    }
}

#[component]
fn Body(attribute: String, plans: Vec<PlanAnswer>, state: PlansState) -> impl IntoView {
    let attribute = StoredValue::new(attribute);
    let title = Signal::derive(move || state.open.with(OpenPlan::title));
    let panel = move || match state.open.get() {
        OpenPlan::Nothing => ().into_any(),
        OpenPlan::New => {
            view! { <PlanForm before=None attribute=attribute.get_value() state /> }.into_any()
        }
        OpenPlan::Edit(before) => {
            view! { <PlanForm before=Some(*before) attribute=attribute.get_value() state /> }
                .into_any()
        }
        OpenPlan::Revisions(now) => view! { <PlanRevisions now=*now state /> }.into_any(),
    };
    // The drawer also closes without the form, for example on Escape.
    let shown = RwSignal::new(false);
    Effect::new(move |_| shown.set(state.open.with(|open| *open != OpenPlan::Nothing)));
    Effect::new(move |_| {
        if !shown.get() && state.open.with_untracked(|open| *open != OpenPlan::Nothing) {
            state.open.set(OpenPlan::Nothing);
        }
    });
    view! {
        <PlanTable plans state />
        <Drawer title open=shown>{panel}</Drawer>
    }
}
