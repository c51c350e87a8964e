//! What-if: a changed rule on the checks there were, beside the rule as it is.

mod found;
mod run;

use leptos::prelude::*;
use leptos_router::components::A;
use leptos_router::hooks::use_query_map;
use weir_wire::rules::RuleBody;

use crate::api::{Api, Having};
use crate::components::feedback::Empty;
use crate::components::load::{load, loaded};
use crate::components::page::PageHead;
use crate::components::rule_form::Carried;
use crate::components::rule_picker::{RulePicker, SomeRules};
use crate::model::rule_choice::by_id;
use crate::model::rule_form::RuleForm;
use crate::pages::shell::TenantId;
use crate::pages::some_rules;
use run::Run;

/// The page.
#[component]
pub fn WhatIf() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let named = use_query_map().with_untracked(|query| query.get("rule"));
    let rules = load(move || {
        let (tenant, named) = (tenant.get(), named.clone());
        async move { some_rules::some_rules(api, &tenant, Having::Anything, named).await }
    });
    view! {
        <PageHead title="What-if" lead="Change a limit and see what it would have done to the checks there were. Nothing is changed for anybody." />
        {loaded(rules, |rules| view! { <Page rules /> })}
    }
}

#[component]
fn Page(rules: SomeRules) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let query = use_query_map();
    let said = query.with_untracked(|query| query.get("rule"));
    let carried = expect_context::<Carried>().take(said.as_deref());
    let new = said.is_none().then(|| carried.clone()).flatten();
    if rules.first.data.is_empty() && new.is_none() {
        return view! {
            <Empty title="No rules yet.">
                <p>"There has to be a rule before one can ask what another limit would do. "
                <A href=move || tenant.page("rules/new")>"Write the first rule"</A></p>
            </Empty>
        }
        .into_any();
    }
    let rules = some_rules::rules(rules, Having::Anything);
    let known = said.as_deref().and_then(|id| rules.rule(id)).or_else(|| rules.first());
    let start = known.filter(|_| new.is_none()).map(|it| it.id).unwrap_or_default();
    let chosen = RwSignal::new(start.clone());
    let others = new
        .iter()
        .map(|it| (String::new(), format!("New: {} / {}", it.namespace, it.name)))
        .collect::<Vec<_>>();
    let carried = StoredValue::new(carried);
    let run = move || {
        let id = chosen.get();
        let before = rules.rule(&id);
        // What was brought along is for the rule it was brought for.
        let brought: Option<RuleBody> = carried.get_value().filter(|_| id == start);
        let body = brought.or_else(|| before.as_ref().map(|it| it.rule.clone()));
        body.map(|body| view! { <Run before form=RuleForm::of(&body) /> })
    };
    view! {
        <div class="filter"><RulePicker label="Rule" rules value=chosen.into() options=by_id others /></div>
        {run}
    }
    .into_any()
}
