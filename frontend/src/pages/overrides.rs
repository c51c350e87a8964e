//! Overrides: another limit for one subject of a rule, with an optional expiry.

mod edit;
mod export;
mod import;
mod list;
mod reset;
mod state;

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use weir_wire::tenants::Role;

use crate::api::{Api, RuleSelection};
use crate::components::feedback::Empty;
use crate::components::guide_link::GuideLink;
use crate::components::page::PageHeader;
use crate::components::remote_data::{fetch_data, show};
use crate::components::require_role::RequireRole;
use crate::components::rule_picker::RuleOptions;
use crate::pages::rule_options;
use crate::pages::shell::TenantId;
use edit::Edit;
use import::Import;
use list::List;
use reset::Reset;
use state::{OpenForm, OverrideFilter};

#[component]
pub fn Overrides() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let named = use_query_map().with_untracked(|query| query.get("rule"));
    let rules = fetch_data(move || {
        let (tenant, named) = (tenant.get(), named.clone());
        async move { rule_options::load_rule_options(api, &tenant, RuleSelection::CountBy, named).await }
    });
    view! {
        <PageHeader title="Overrides" lead="Custom limits for individual subjects" />
        {show(rules, |rules| view! { <Page rules /> })}
    }
}

#[component]
fn Page(rules: RuleOptions) -> impl IntoView {
    if rules.first.data.is_empty() {
        return view! {
            <Empty title="No rule counts by an attribute yet">
                <p>"An override applies to one subject of a rule. Create a rule that counts by an attribute, for example user, first. "<GuideLink page="overrides" text="About overrides" /></p>
            </Empty>
        }
        .into_any();
    }
    let query = use_query_map();
    let parameter = |name: &str| query.with_untracked(|query| query.get(name)).unwrap_or_default();
    let filter = OverrideFilter {
        typed: RwSignal::new(parameter("q")),
        rule: RwSignal::new(parameter("rule")),
    };
    let (open, writes) = (RwSignal::new(OpenForm::Nothing), RwSignal::new(0_u32));
    let rules = rule_options::known_rules(rules, RuleSelection::CountBy);
    let done = Callback::new(move |()| {
        open.set(OpenForm::Nothing);
        writes.update(|writes| *writes += 1);
    });
    let panel = move || {
        let cancel = Callback::new(move |()| open.set(OpenForm::Nothing));
        match open.get() {
            OpenForm::Nothing => ().into_any(),
            OpenForm::New => view! { <Edit before=None filter rules done cancel /> }.into_any(),
            OpenForm::Edit(before) => {
                view! { <Edit before=Some(*before) filter rules done cancel /> }.into_any()
            }
            OpenForm::Import => view! { <Import done cancel /> }.into_any(),
            OpenForm::Reset => view! { <Reset rules cancel /> }.into_any(),
        }
    };
    view! {
        <RequireRole role=Role::Editor>
            <div class="actions">
                <button type="button" class="button primary" on:click=move |_| open.set(OpenForm::New)>"New override"</button>
                <button type="button" class="button" on:click=move |_| open.set(OpenForm::Import)>"Import CSV"</button>
                <button type="button" class="button" on:click=move |_| open.set(OpenForm::Reset)>"Reset counters"</button>
            </div>
            {panel}
        </RequireRole>
        <List filter rules writes open />
    }
    .into_any()
}
