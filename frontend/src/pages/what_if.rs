//! What-if: a changed rule on the checks there were, beside the rule as it is.

mod found;
mod run;

use leptos::prelude::*;
use leptos_router::components::A;
use leptos_router::hooks::use_query_map;
use weir_wire::rules::{RuleAnswer, RuleBody};

use crate::api::Api;
use crate::components::feedback::Empty;
use crate::components::field::Choice;
use crate::components::load::{load, loaded};
use crate::components::page::PageHead;
use crate::components::rule_form::Carried;
use crate::model::rule_form::RuleForm;
use crate::pages::shell::TenantId;
use run::Run;

/// The page.
#[component]
pub fn WhatIf() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let rules = load(move || {
        let tenant = tenant.get();
        async move { api.rules(&tenant).await }
    });
    view! {
        <PageHead title="What-if" lead="Change a limit and see what it would have done to the checks there were. Nothing is changed for anybody." />
        {loaded(rules, |rules| view! { <Page rules /> })}
    }
}

#[component]
fn Page(rules: Vec<RuleAnswer>) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let query = use_query_map();
    let said = query.with_untracked(|query| query.get("rule"));
    let carried = expect_context::<Carried>().take(said.as_deref());
    let new = said.is_none().then(|| carried.clone()).flatten();
    if rules.is_empty() && new.is_none() {
        return view! {
            <Empty title="No rules yet.">
                <p>"There has to be a rule before one can ask what another limit would do. "
                <A href=move || tenant.page("rules/new")>"Write the first rule"</A></p>
            </Empty>
        }
        .into_any();
    }
    let first = rules.first().map(|it| it.id.clone()).unwrap_or_default();
    let known = said.clone().filter(|id| rules.iter().any(|it| it.id == *id));
    let start = if new.is_some() { String::new() } else { known.unwrap_or(first) };
    let chosen = RwSignal::new(start.clone());
    let name =
        |it: &RuleAnswer| (it.id.clone(), format!("{} / {}", it.rule.namespace, it.rule.name));
    let fresh =
        new.iter().map(|it| (String::new(), format!("New: {} / {}", it.namespace, it.name)));
    let options = fresh.chain(rules.iter().map(name)).collect::<Vec<_>>();
    let (rules, carried) = (StoredValue::new(rules), StoredValue::new(carried));
    let run = move || {
        let id = chosen.get();
        let before = rules.with_value(|rules| rules.iter().find(|it| it.id == id).cloned());
        // What was brought along is for the rule it was brought for.
        let brought: Option<RuleBody> = carried.get_value().filter(|_| id == start);
        let body = brought.or_else(|| before.as_ref().map(|it| it.rule.clone()));
        body.map(|body| view! { <Run before form=RuleForm::of(&body) /> })
    };
    view! {
        <div class="filter"><Choice label="Rule" value=chosen.into() options /></div>
        {run}
    }
    .into_any()
}
