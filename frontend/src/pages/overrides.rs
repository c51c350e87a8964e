//! Overrides: another limit for one subject of a rule, with an optional expiry.

mod edit;
mod export;
mod import;
mod list;
mod reset;
mod state;

use futures_util::FutureExt as _;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use weir_wire::tenants::Role;

use crate::api::{Api, RuleFeature, RuleSelection};
use crate::components::control_flow::Show;
use crate::components::dialog::Drawer;
use crate::components::feedback::Empty;
use crate::components::guide_link::GuideLink;
use crate::components::namespace::namespace_in_url;
use crate::components::page::PageHeader;
use crate::components::remote_data::{fetch_data, show_table};
use crate::components::require_role::RoleButton;
use crate::components::rule_picker::RuleOptions;
use crate::components::url_state::url_text;
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
        async move {
            let having = RuleSelection::with(RuleFeature::CountBy);
            rule_options::load_rule_options(api, &tenant, &having, named).await
        }
        .boxed_local()
    });
    let open = RwSignal::new(OpenForm::Nothing);
    // An override needs a rule that counts by an attribute.
    let usable = Memo::new(move |_| rules.data().is_some_and(|rules| !rules.first.data.is_empty()));
    view! {
        <PageHeader title="Overrides" lead="Custom limits for individual subjects">
            <Show when=move || usable.get()><Actions open /></Show>
        </PageHeader>
        {show_table(rules, move |rules| view! { <Page rules open /> })}
    }
}

#[component]
fn Actions(open: RwSignal<OpenForm>) -> impl IntoView {
    view! {
        <RoleButton role=Role::Editor text="Reset counters" reason_shown=true on_press=move |()| open.set(OpenForm::Reset) />
        <RoleButton role=Role::Editor text="Import CSV" reason_shown=true on_press=move |()| open.set(OpenForm::Import) />
        <RoleButton role=Role::Editor text="New override" class="button primary" on_press=move |()| open.set(OpenForm::New) />
    }
}

#[component]
fn Page(rules: RuleOptions, open: RwSignal<OpenForm>) -> impl IntoView {
    if rules.first.data.is_empty() {
        return view! {
            <Empty title="No rule counts by an attribute yet">
                <p>"An override applies to one subject of a rule. Create a rule that counts by an attribute, for example user, first. "<GuideLink page="overrides" text="About overrides" /></p>
            </Empty>
        }
        .into_any();
    }
    let query = use_query_map();
    let filter = OverrideFilter {
        typed: url_text(&["q"]),
        rule: url_text(&["rule"]),
        namespace: namespace_in_url(),
    };
    let writes = RwSignal::new(0_u32);
    let rules = rule_options::known_rules(rules, RuleSelection::with(RuleFeature::CountBy));
    let written = Callback::new(move |()| writes.update(|writes| *writes += 1));
    let done = Callback::new(move |()| {
        open.set(OpenForm::Nothing);
        written.run(());
    });
    let asked = query.with_untracked(|query| query.get("new"));
    open.set(match asked.as_deref() {
        Some("1") => OpenForm::New,
        Some("import") => OpenForm::Import,
        _ => OpenForm::Nothing,
    });
    // The drawer also closes without the form, for example on Escape.
    let shown = RwSignal::new(false);
    Effect::new(move |_| shown.set(open.with(|open| *open != OpenForm::Nothing)));
    Effect::new(move |_| {
        if !shown.get() && open.with_untracked(|open| *open != OpenForm::Nothing) {
            open.set(OpenForm::Nothing);
        }
    });
    let title = Signal::derive(move || open.with(|open| open.title().to_owned()));
    let panel = move || {
        let cancel = Callback::new(move |()| open.set(OpenForm::Nothing));
        match open.get() {
            OpenForm::Nothing => ().into_any(),
            OpenForm::New => view! { <Edit before=None filter rules done cancel /> }.into_any(),
            OpenForm::Edit(before) => {
                view! { <Edit before=Some(*before) filter rules done cancel /> }.into_any()
            }
            OpenForm::Import => view! { <Import done written cancel /> }.into_any(),
            OpenForm::Reset => view! { <Reset rules cancel /> }.into_any(),
        }
    };
    view! {
        <Drawer title open=shown>{panel}</Drawer>
        <List filter rules writes open />
    }
    .into_any()
}
