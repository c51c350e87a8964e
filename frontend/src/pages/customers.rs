//! Customers: the plan of each, and what it used today.

mod assign;
mod import;
mod list;

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
pub use assign::Assign;
use import::Import;
use list::List;

#[component]
pub fn Customers() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let plans = fetch_data(move || {
        let tenant = tenant.get();
        async move { plans_of_customers(api, &tenant).await }.boxed_local()
    });
    let has_attribute = Memo::new(move |_| plans.data().flatten().is_some());
    let (assigning, importing) = (RwSignal::new(false), RwSignal::new(false));
    let body = move |found: Option<PlansOfCustomers>| match found {
        Some((attribute, plans)) => {
            view! { <Body attribute plans assigning importing /> }.into_any()
        }
        None => view! { <NoCustomerAttribute done=move |()| plans.refetch() /> }.into_any(),
    };
    view! {
        <PageHeader title="Customers" lead="The plan of each customer, and its checks today.">
            <Show when=move || has_attribute.get()>
                <RoleButton role=Role::Editor text="Import CSV" reason_shown=true on_press=move |()| importing.set(true) />
                <RoleButton role=Role::Editor text="Assign" class="button primary" on_press=move |()| assigning.set(true) />
            </Show>
        </PageHeader>
        {show_table(plans, body)}
    }
}

/// The drawers and the list.
#[component]
fn Body(
    attribute: String,
    plans: Vec<PlanAnswer>,
    assigning: RwSignal<bool>,
    importing: RwSignal<bool>,
) -> impl IntoView {
    let writes = RwSignal::new(0_u32);
    let (attribute, plans) = (StoredValue::new(attribute), StoredValue::new(plans));
    let done = Callback::new(move |()| {
        assigning.set(false);
        importing.set(false);
        writes.update(|writes| *writes += 1);
    });
    view! {
        <Drawer title="Assign a customer to a plan" open=assigning>
            <Assign attribute=attribute.get_value() plans=plans.get_value() done cancel=move |()| assigning.set(false) />
        </Drawer>
        <Drawer title="Import assignments" open=importing>
            <Import plans done cancel=Callback::new(move |()| importing.set(false)) />
        </Drawer>
        <List attribute=attribute.get_value() plans=plans.get_value() writes />
    }
}
