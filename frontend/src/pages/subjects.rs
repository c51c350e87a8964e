//! One subject, such as a person or a customer: its counters in every rule, its overrides and its denials.

mod counters;
mod denied_by;
mod finder;
mod history;
mod near_limit;

use std::collections::BTreeMap;
use std::time::Duration;

use leptos::prelude::*;
use leptos_router::components::A;
use leptos_router::hooks::use_query_map;
use weir_wire::subjects::InspectSubjectBody;

use crate::api::Api;
use crate::components::control_flow::Show;
use crate::components::feedback::Skeleton;
use crate::components::namespace::namespace_in_url;
use crate::components::page::PageHeader;
use crate::components::remote_data::{fetch_data, show_latest_shaped};
use crate::components::timer::repeat;
use crate::model::subject_action::TIMES_S;
use crate::model::{customer, request_link, subject};
use crate::pages::namespace_filter::NamespaceFilter;
use crate::pages::shell::TenantId;
use crate::pages::subject_actions::{SubjectActions, SubjectQuestion};
use crate::pages::traffic::DenialGroups;
use counters::Counters;
pub use counters::{RuleCard, changes_last};
use denied_by::DeniedBy;
use finder::Finder;
use history::DenialChart;
pub use near_limit::NearLimits;

/// The interval between two readings of the counters.
const REFRESH: Duration = Duration::from_secs(5);
/// The interval between two readings of the chart.
const REFRESH_CHART: Duration = Duration::from_secs(30);

#[component]
pub fn Subjects() -> impl IntoView {
    let query = use_query_map();
    let attributes = Memo::new(move |_| {
        let given = query.with(|query| query.get("attributes")).unwrap_or_default();
        request_link::attributes(&given)
    });
    move || {
        let attributes = attributes.get();
        if attributes.is_empty() {
            view! { <Finder /> }.into_any()
        } else {
            view! { <Subject attributes /> }.into_any()
        }
    }
}

#[component]
fn Subject(attributes: BTreeMap<String, String>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let title = subject::label(&attributes);
    let customer = customer_link(&attributes);
    let tester = request_link::request_link(None, &attributes, 1);
    let namespace = namespace_in_url();
    let attributes = StoredValue::new(attributes);
    let inspect = move |history: bool| {
        let only = Some(namespace.value.get()).filter(|namespace| !namespace.is_empty());
        let attributes = attributes.get_value();
        api.inspect_subject(
            &tenant.get(),
            &InspectSubjectBody { attributes, namespace: only, history },
        )
    };
    let (found, past) = (fetch_data(move || inspect(false)), fetch_data(move || inspect(true)));
    repeat(|| Some(REFRESH), move || found.poll());
    repeat(|| Some(REFRESH_CHART), move || past.poll());
    let actions = SubjectActions::new(Callback::new(move |()| found.refetch()));
    let for_s = RwSignal::new(TIMES_S[0]);
    view! {
        <PageHeader title=title lead="Counters, overrides and denials in every rule">
            <NamespaceFilter namespace />
            {customer}
            <A href=move || tenant.page("subjects") attr:class="button">"Other subject"</A>
            <A href=move || tenant.page(&tester) attr:class="button">"Simulate"</A>
        </PageHeader>
        <SubjectQuestion actions />
        {show_latest_shaped(found, Skeleton::Cards, move |found| view! {
            {show_latest_shaped(past, Skeleton::Card, move |past| view! {
                <DeniedBy found past for_s actions />
            })}
            <Counters found past for_s actions />
        })}
        {show_latest_shaped(past, Skeleton::Chart, move |past| view! { <DenialChart past /> })}
        {show_latest_shaped(found, Skeleton::Card, move |found| {
            let denials = Signal::derive(move || found.with(|found| found.denials.clone()));
            view! { <DenialGroups denials actions /> }
        })}
    }
}

/// The page of the customer, if the subject is one.
fn customer_link(attributes: &BTreeMap<String, String>) -> AnyView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let mut all = attributes.iter();
    let (Some((attribute, value)), None) = (all.next(), all.next()) else { return ().into_any() };
    let Some(page) = customer::page(value) else { return ().into_any() };
    let attribute = attribute.clone();
    let settings = fetch_data(move || api.tenant(&tenant.get()));
    let is_customer = Memo::new(move |_| {
        let settings = settings.data();
        settings.is_some_and(|tenant| tenant.customer_attribute.as_ref() == Some(&attribute))
    });
    let link = move || {
        let page = page.clone();
        view! { <A href=move || tenant.page(&page) attr:class="button">"Plan and usage"</A> }
    };
    view! { <Show when=move || is_customer.get()>{link()}</Show> }.into_any()
}
