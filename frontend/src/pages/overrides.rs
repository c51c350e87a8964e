//! Overrides: another limit, or none, for one subject of a rule until a date.

mod edit;
mod export;
mod import;
mod list;
mod reset;

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use weir_wire::overrides::OverrideAnswer;
use weir_wire::tenants::Role;

use crate::api::{Api, Having};
use crate::components::feedback::Empty;
use crate::components::load::{load, loaded};
use crate::components::needs::Needs;
use crate::components::page::PageHead;
use crate::components::rule_picker::SomeRules;
use crate::pages::shell::TenantId;
use crate::pages::some_rules;
use edit::Edit;
use import::Import;
use list::List;
use reset::Reset;

/// What stands above the list.
#[derive(Debug, Clone, PartialEq)]
enum Open {
    Nothing,
    New,
    Edit(Box<OverrideAnswer>),
    Import,
    Reset,
}

/// Which overrides are listed; cheap to copy.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    /// In their subject.
    typed: RwSignal<String>,
    /// The id of their rule; empty for any.
    rule: RwSignal<String>,
}

/// The page.
#[component]
pub fn Overrides() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let named = use_query_map().with_untracked(|query| query.get("rule"));
    let rules = load(move || {
        let (tenant, named) = (tenant.get(), named.clone());
        async move { some_rules::some_rules(api, &tenant, Having::CountBy, named).await }
    });
    view! {
        <PageHead title="Overrides" lead="Another limit, or none, for one subject of a rule, until a date." />
        {loaded(rules, |rules| view! { <Page rules /> })}
    }
}

#[component]
fn Page(rules: SomeRules) -> impl IntoView {
    if rules.first.data.is_empty() {
        return view! {
            <Empty title="No rule counts by an attribute.">
                <p>"An override is for one subject of a rule, so there has to be a rule that counts by something, such as user."</p>
            </Empty>
        }
        .into_any();
    }
    let query = use_query_map();
    let said = |name: &str| query.with_untracked(|query| query.get(name)).unwrap_or_default();
    let wanted = Wanted { typed: RwSignal::new(said("q")), rule: RwSignal::new(said("rule")) };
    let (open, turn) = (RwSignal::new(Open::Nothing), RwSignal::new(0_u32));
    let rules = some_rules::rules(rules, Having::CountBy);
    let done = Callback::new(move |()| {
        open.set(Open::Nothing);
        turn.update(|turn| *turn += 1);
    });
    let panel = move || {
        let cancel = Callback::new(move |()| open.set(Open::Nothing));
        match open.get() {
            Open::Nothing => ().into_any(),
            Open::New => view! { <Edit before=None wanted rules done cancel /> }.into_any(),
            Open::Edit(before) => {
                view! { <Edit before=Some(*before) wanted rules done cancel /> }.into_any()
            }
            Open::Import => view! { <Import done cancel /> }.into_any(),
            Open::Reset => view! { <Reset rules cancel /> }.into_any(),
        }
    };
    view! {
        <Needs role=Role::Editor>
            <div class="actions">
                <button type="button" class="button primary" on:click=move |_| open.set(Open::New)>"New override"</button>
                <button type="button" class="button" on:click=move |_| open.set(Open::Import)>"Import CSV"</button>
                <button type="button" class="button" on:click=move |_| open.set(Open::Reset)>"Reset a counter"</button>
            </div>
            {panel}
        </Needs>
        <List wanted rules turn open />
    }
    .into_any()
}
