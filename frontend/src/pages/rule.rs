//! One rule: what it does, in words, and the ways to change or delete it.

mod revisions;
mod rollout;

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::components::A;
use leptos_router::hooks::{use_navigate, use_params_map};
use weir_wire::rules::RuleAnswer;
use weir_wire::tenants::Role;
use weir_wire::words::Action;

use crate::api::{Api, Problem};
use crate::components::badge::ModeBadge;
use crate::components::dialog::ConfirmByName;
use crate::components::feedback::{ActProblem, remark};
use crate::components::load::{Load, load, loaded};
use crate::components::needs::{ActLink, Needs};
use crate::components::page::PageHead;
use crate::components::stats_range::{SpanChoice, span_by_address};
use crate::components::time::When;
use crate::model::number::counted;
use crate::model::request_link::{request_link, sample};
use crate::model::words;
use crate::pages::overview::Traffic;
use crate::pages::shell::TenantId;
use revisions::Revisions;
use rollout::RolloutLine;

/// The page.
#[component]
pub fn RulePage() -> impl IntoView {
    let rule = rule_of_address();
    let title = move || rule.data().map_or_else(|| "Rule".to_owned(), |rule| rule.rule.name);
    view! {
        <PageHead title=Signal::derive(title) />
        {loaded(rule, move |data| view! {
            <Facts rule=data.clone() />
            <RuleTraffic id=data.id.clone() />
            <Revisions now=data rule />
        })}
    }
}

/// The rule that the address names.
pub(super) fn rule_of_address() -> Load<RuleAnswer> {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let params = use_params_map();
    let id = Memo::new(move |_| params.with(|params| params.get("rule")).unwrap_or_default());
    load(move || {
        let (tenant, id) = (tenant.get(), id.get());
        async move { api.rule(&tenant, &id).await }
    })
}

#[component]
fn Facts(rule: RuleAnswer) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let body = rule.rule.clone();
    let edit = format!("rules/{}/edit", rule.id);
    let what_if = format!("what-if?rule={}", rule.id);
    let test = request_link(Some(&body.namespace), &sample(&body));
    let warnings: Vec<_> = rule.warnings.clone().into_iter().map(|it| remark(&it)).collect();
    let limited = body.action == Action::Limit;
    let description = (!body.description.is_empty())
        .then(|| view! { <p class="prose">{body.description.clone()}</p> });
    view! {
        <p class="sentence">{words::sentence(&body)}</p>
        {description}
        {warnings}
        <dl class="facts">
            <dt>"Namespace"</dt><dd><code>{body.namespace}</code></dd>
            <dt>"Mode"</dt><dd><ModeBadge mode=body.mode /></dd>
            {limited.then(|| view! { <dt>"While Redis is away"</dt><dd>{words::failure(body.on_store_failure)}</dd> })}
            <dt>"Revision"</dt><dd>{rule.revision}", in force from rulebook version "{rule.rulebook_version}</dd>
            <RolloutLine version=rule.rulebook_version />
            <dt>"Overrides"</dt><dd><OverridesOf id=rule.id.clone() /></dd>
            <dt>"Changed"</dt><dd><When at=rule.updated_at /></dd>
            <dt>"Created"</dt><dd><When at=rule.created_at /></dd>
            <dt>"Id"</dt><dd><code>{rule.id.clone()}</code></dd>
        </dl>
        <div class="actions">
            <ActLink role=Role::Editor href=Signal::derive(move || tenant.page(&edit)) text="Edit rule" primary=true />
            <A href=move || tenant.page(&test) attr:class="button">"Test it"</A>
            <A href=move || tenant.page(&what_if) attr:class="button">"What if it were another limit?"</A>
            <Needs role=Role::Editor told=true><Delete rule /></Needs>
        </div>
    }
}

/// How many exceptions it has, and the way to them.
#[component]
fn OverridesOf(id: String) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let page = format!("overrides?rule={id}");
    let first = load(move || {
        let (tenant, id) = (tenant.get(), id.clone());
        async move { api.overrides(&tenant, "", Some(&id), None).await }
    });
    let count = move || match first.data() {
        None => "Show".to_owned(),
        Some(page) if page.next_cursor.is_some() => format!("more than {}", page.data.len()),
        Some(page) => counted(page.data.len(), "override", "overrides"),
    };
    view! { <A href=move || tenant.page(&page)>{count}</A> }
}

/// What was decided by it.
#[component]
fn RuleTraffic(id: String) -> impl IntoView {
    let span = span_by_address();
    view! {
        <section class="stack" aria-labelledby="traffic-heading">
            <div class="page-head">
                <h2 id="traffic-heading">"Decisions"</h2>
                <SpanChoice span />
            </div>
            <Traffic rule=Some(id) span />
        </section>
    }
}

#[component]
fn Delete(rule: RuleAnswer) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (open, problem) = (RwSignal::new(false), RwSignal::new(None::<Problem>));
    let navigate = use_navigate();
    let name = rule.rule.name.clone();
    let consequence =
        format!("{name} stops limiting at once on all gates. Its overrides go with it.");
    let delete = Callback::new(move |()| {
        let (rule, navigate) = (rule.clone(), navigate.clone());
        spawn_local(async move {
            let id = tenant.now();
            match api.delete_rule(&id, &rule).await {
                Ok(()) => navigate(&format!("/t/{id}/rules"), NavigateOptions::default()),
                Err(refused) => drop(problem.try_set(Some(refused))),
            }
        });
    });
    view! {
        <button type="button" class="button danger" on:click=move |_| open.set(true)>"Delete rule"</button>
        <ActProblem problem />
        <ConfirmByName title="Delete this rule?" consequence name act="Delete rule" open on_confirm=delete />
    }
}
