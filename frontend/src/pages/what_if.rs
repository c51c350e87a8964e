//! What-if: replays checks against a changed rule, beside the current rule.

mod curve;
mod result;
mod run;

use futures_util::FutureExt as _;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::components::A;
use leptos_router::hooks::{use_navigate, use_query_map};
use weir_wire::limits::LimitBody;
use weir_wire::rules::{RuleAnswer, RuleBody};
use weir_wire::simulate::Recorded;

use crate::api::{Api, RuleSelection};
use crate::components::feedback::{Empty, Skeleton};
use crate::components::field::Binding;
use crate::components::guide_link::GuideLink;
use crate::components::icon::Icon;
use crate::components::menu::Menu;
use crate::components::namespace::namespace_in_url;
use crate::components::page::PageHeader;
use crate::components::remote_data::{RemoteData, fetch_data, show_shaped};
use crate::components::rule_form::DraftTransfer;
use crate::components::rule_picker::{RuleOptions, RulePicker};
use crate::components::saved_views::{ManageViews, ViewWords, Views};
use crate::model::json;
use crate::model::rule_choice::by_id;
use crate::model::rule_form::RuleForm;
use crate::pages::namespace_filter::NamespaceFilter;
use crate::pages::rule_options;
use crate::pages::shell::TenantId;
use run::{Run, fetch_recorded};

#[component]
pub fn WhatIf() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (query, in_url, navigate) = (use_query_map(), namespace_in_url(), use_navigate());
    let rules = fetch_data(move || {
        let named = query.with_untracked(|query| query.get("rule"));
        let (tenant, having) = (tenant.get(), selection(in_url.value.get()));
        async move {
            let rules = rule_options::load_rule_options(api, &tenant, &having, named).await?;
            Ok((rules, having))
        }
        .boxed_local()
    });
    // Fetched beside the rules, and not after them.
    let recorded = fetch_recorded(api, tenant);
    // Another namespace has other rules.
    let set = Callback::new(move |namespace: String| {
        let page = tenant.page_now(&format!("what-if?namespace={namespace}"));
        let options = NavigateOptions { replace: true, ..NavigateOptions::default() };
        navigate(&page, options);
    });
    let namespace = Binding { value: in_url.value, set };
    // The page reads the URL when it renders.
    let reread = Callback::new(move |()| request_animation_frame(move || rules.refetch()));
    let saved = Views::of("what-if", SAVED, reread);
    let trigger = view! { "Saved runs"<Icon name="chevron-down" /> };
    view! {
        <PageHeader title="Replay" lead="Replay recorded traffic against a different limit. Nothing goes live.">
            <Menu label="Saved runs" class="button" trigger=trigger.into_any()>{saved.entries()}</Menu>
        </PageHeader>
        <ManageViews views=saved />
        {show_shaped(rules, Skeleton::Form, move |(rules, having)| view! { <Page rules having namespace recorded /> })}
    }
}

const SAVED: &ViewWords = &ViewWords {
    title: "Saved runs",
    one: "run",
    hint: "The rule, its changed limits and the time of the traffic. All members can use it.",
};

/// The rules of a namespace, or all.
fn selection(namespace: String) -> RuleSelection {
    RuleSelection { namespace, ..RuleSelection::default() }
}

#[component]
fn Page(
    rules: RuleOptions,
    having: RuleSelection,
    namespace: Binding<String>,
    recorded: RemoteData<Recorded>,
) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let query = use_query_map();
    let rule_id = query.with_untracked(|query| query.get("rule"));
    let draft = expect_context::<DraftTransfer>().take(rule_id.as_deref());
    let limits: Option<Vec<LimitBody>> =
        query.with_untracked(|query| json::read(&query.get("limits")?).ok());
    let new = rule_id.is_none().then(|| draft.clone()).flatten();
    if rules.first.data.is_empty() && new.is_none() {
        return view! {
            <Empty title="No rules yet">
                <p>"A replay needs a rule to compare with. "
                <A href=move || tenant.page("rules/new")>"Create your first rule"</A>". "<GuideLink page="what-if" text="About what-if runs" /></p>
            </Empty>
        }
        .into_any();
    }
    let rules = rule_options::known_rules(rules, having);
    let known = rule_id.as_deref().and_then(|id| rules.rule(id)).or_else(|| rules.first());
    let known = known.filter(|_| new.is_none());
    let with_limits =
        |rule: &RuleAnswer| limits.map(|limits| RuleBody { limits, ..rule.rule.clone() });
    let draft = draft.or_else(|| known.as_ref().and_then(with_limits));
    let start = known.map(|rule| rule.id).unwrap_or_default();
    let chosen = RwSignal::new(start.clone());
    let others = new
        .iter()
        .map(|rule| (String::new(), format!("New: {} / {}", rule.namespace, rule.name)))
        .collect::<Vec<_>>();
    let draft = StoredValue::new(draft);
    let run = move || {
        let id = chosen.get();
        let before = rules.rule(&id);
        // An unsaved rule from the editor is used only for the rule it belongs to.
        let unsaved: Option<RuleBody> = draft.get_value().filter(|_| id == start);
        let body = unsaved.or_else(|| before.as_ref().map(|rule| rule.rule.clone()));
        body.map(|body| view! { <Run before form=RuleForm::of(&body) recorded /> })
    };
    view! {
        <div class="filter">
            <NamespaceFilter namespace />
            <RulePicker label="Rule" rules value=chosen.into() options=by_id others />
        </div>
        {run}
    }
    .into_any()
}
