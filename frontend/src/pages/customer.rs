//! One customer: its plan with the history of its assignments, and its checks of this month.

mod assignments;
mod usage;
mod view;

use futures_util::FutureExt as _;
use futures_util::future::try_join;
use leptos::prelude::*;
use leptos_router::components::A;
use leptos_router::hooks::use_params_map;
use weir_wire::customers::CustomerAnswer;
use weir_wire::tenants::Role;

use crate::api::Api;
use crate::browser;
use crate::components::dialog::Drawer;
use crate::components::feedback::{Skeleton, SubmitProblem};
use crate::components::page::PageHeader;
use crate::components::remote_data::{fetch_data, show, show_latest_shaped};
use crate::components::require_role::RoleButton;
use crate::components::submit::SubmitAction;
use crate::model::customer::{month_until, of_page};
use crate::model::number::{grouped, signed};
use crate::model::subject;
use crate::pages::customer_attribute::{NoCustomerAttribute, PlansOfCustomers, plans_of_customers};
use crate::pages::customers::Assign;
use crate::pages::shell::TenantId;
use crate::pages::subject_actions::{SubjectActions, SubjectQuestion};
use crate::pages::traffic::{DenialGroups, Tile};
use assignments::Assignments;
use usage::Usage;
use view::show_view;

#[component]
pub fn CustomerPage() -> impl IntoView {
    let params = use_params_map();
    let name = Memo::new(move |_| {
        params.with(|params| of_page(params.get_str("customer").unwrap_or_default()))
    });
    move || view! { <Customer name=name.get() /> }
}

#[component]
fn Customer(name: String) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let title = subject::shown(&name);
    let customer = StoredValue::new(name);
    let plans = fetch_data(move || {
        let tenant = tenant.get();
        async move { plans_of_customers(api, &tenant).await }.boxed_local()
    });
    let body = move |found: Option<PlansOfCustomers>| match found {
        Some(found) => view! { <Body title=title.clone() customer found /> }.into_any(),
        None => view! {
            <PageHeader title=title.clone() />
            <NoCustomerAttribute done=move |()| plans.refetch() />
        }
        .into_any(),
    };
    show(plans, body)
}

#[component]
fn Body(title: String, customer: StoredValue<String>, found: PlansOfCustomers) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (attribute, plans) = found;
    let [first, last] = month_until(&browser::rfc3339(browser::now_ms())[..DAY_CHARS]);
    let days = StoredValue::new([first, last]);
    let data = fetch_data(move || {
        let tenant = tenant.get();
        let [first, last] = days.get_value();
        async move {
            let customer = customer.get_value();
            let usage = api.customer_usage(&tenant, &customer, [&first, &last]);
            try_join(api.customer(&tenant, &customer), usage).await
        }
        .boxed_local()
    });
    let subject = [(attribute.clone(), customer.get_value())].into();
    let subject = subject::page(&subject);
    let (attribute, plans) = (StoredValue::new(attribute), StoredValue::new(plans));
    let (assigning, viewing) = (RwSignal::new(false), SubmitAction::new());
    let done = Callback::new(move |()| {
        assigning.set(false);
        data.refetch();
    });
    view! {
        <PageHeader title lead="Plan and checks of this customer">
            <A href=move || tenant.page(&subject) attr:class="button">"Counters and blocks"</A>
            <RoleButton role=Role::Editor text="Show as customer" reason_shown=true
                on_press=move |()| show_view(api, &tenant.now(), &customer.get_value(), viewing) />
            <RoleButton role=Role::Editor text="Change plan" class="button primary" on_press=move |()| assigning.set(true) />
        </PageHeader>
        <SubmitProblem problem=viewing.problem />
        <Drawer title="Change plan" open=assigning>
            <Assign attribute=attribute.get_value() plans=plans.get_value() customer=customer.get_value() done cancel=move |()| assigning.set(false) />
        </Drawer>
        {show_latest_shaped(data, Skeleton::Cards, move |data| {
            let answer = Signal::derive(move || data.with(|(answer, _)| answer.clone()));
            let usage = Signal::derive(move || data.with(|(_, usage)| usage.clone()));
            view! {
                <Today answer />
                <Assignments answer plans changed=done />
                <Usage usage days customer />
            }
        })}
        <Denials customer />
    }
}

/// The latest denials by rules that count by the customer attribute.
#[component]
fn Denials(customer: StoredValue<String>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let denials = fetch_data(move || api.denials_of_customer(&tenant.get(), &customer.get_value()));
    let actions = SubjectActions::new(Callback::new(move |()| denials.refetch()));
    view! {
        <SubjectQuestion actions />
        {show_latest_shaped(denials, Skeleton::Table, move |denials| {
            let denials = Signal::derive(move || denials.with(|denials| denials.data.clone()));
            view! { <DenialGroups denials actions /> }
        })}
    }
}

/// The length of a day such as `2026-11-28`.
const DAY_CHARS: usize = 10;

/// The present plan, and the counts of this day of UTC.
#[component]
fn Today(answer: Signal<CustomerAnswer>) -> impl IntoView {
    let tile = |name: &'static str,
                note: &'static str,
                class: &'static str,
                read: fn(&CustomerAnswer) -> String| {
        let value = Signal::derive(move || answer.with(read));
        view! { <Tile name=name.to_owned() value note=note.to_owned() class=class.to_owned() /> }
    };
    let plan = |answer: &CustomerAnswer| {
        answer.plan.as_ref().map_or_else(|| "None".to_owned(), |plan| plan.name.clone())
    };
    view! {
        <dl class="tiles">
            {tile("Plan", "now", "", plan)}
            {tile("Allowed", "today, in UTC", "", |answer| grouped(answer.today.allowed))}
            {tile("Denied", "today, in UTC", "tile-denied", |answer| grouped(answer.today.denied))}
            {tile("Units", "today, in UTC", "", |answer| signed(answer.today.units))}
        </dl>
    }
}
