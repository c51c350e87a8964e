//! All rules of a tenant, in words.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::rules::RuleAnswer;
use weir_wire::tenants::Role;
use weir_wire::words::Mode;

use crate::api::Api;
use crate::components::badge::ModeBadge;
use crate::components::feedback::Empty;
use crate::components::field::{Choice, TextField};
use crate::components::load::{load, loaded};
use crate::components::needs::ActLink;
use crate::components::page::PageHead;
use crate::model::filter::shows;
use crate::model::number::counted;
use crate::model::words;
use crate::pages::shell::TenantId;

/// The list with its filter.
#[component]
pub fn Rules() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let rules = load(move || {
        let tenant = tenant.get();
        async move { api.rules(&tenant).await }
    });
    view! {
        <PageHead title="Rules" lead="What is limited, for whom, and how much.">
            <ActLink role=Role::Editor href=Signal::derive(move || tenant.page("rules/new")) text="New rule" primary=true />
        </PageHead>
        {loaded(rules, |rules| view! { <Filtered rules /> })}
    }
}

#[component]
fn Filtered(rules: Vec<RuleAnswer>) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let (typed, mode) = (RwSignal::new(String::new()), RwSignal::new(None::<Mode>));
    if rules.is_empty() {
        return view! {
            <Empty title="No rules yet: every check passes.">
                <p>"A rule says which requests count, for whom, and how many may pass."</p>
                <ActLink role=Role::Editor href=Signal::derive(move || tenant.page("rules/new")) text="Create the first rule" primary=true />
            </Empty>
        }
        .into_any();
    }
    let all = rules.len();
    let rules = StoredValue::new(rules);
    let shown = Memo::new(move |_| {
        rules.with_value(|rules| {
            let shown = |rule: &&RuleAnswer| typed.with(|typed| shows(rule, typed, mode.get()));
            rules.iter().filter(shown).cloned().collect::<Vec<_>>()
        })
    });
    let modes = std::iter::once((None, "Any mode".to_owned()))
        .chain(Mode::ALL.iter().map(|it| (Some(*it), words::mode(*it).to_owned())))
        .collect();
    let count = move || match shown.with(Vec::len) {
        some if some == all => counted(all, "rule", "rules"),
        some => format!("{some} of {}", counted(all, "rule", "rules")),
    };
    view! {
        <div class="filter" role="search">
            <TextField label="Filter" kind="search" value=typed />
            <Choice label="Mode" value=mode.into() options=modes />
            <p class="quiet" role="status">{count}</p>
        </div>
        <div class="table-wrap" tabindex="0" role="region" aria-label="Rules">
            <table>
                <thead><tr><th>"Rule"</th><th>"Matches"</th><th>"Limits"</th><th>"Mode"</th></tr></thead>
                <tbody><For each=move || shown.get() key=|rule| (rule.id.clone(), rule.revision) let:rule><Line rule /></For></tbody>
            </table>
        </div>
    }
    .into_any()
}

#[component]
fn Line(rule: RuleAnswer) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let body = rule.rule;
    let limits: Vec<_> = match body.action {
        weir_wire::words::Action::Limit => body.limits.iter().map(words::limit).collect(),
        weir_wire::words::Action::Allow => vec!["always passes".to_owned()],
        weir_wire::words::Action::Deny => vec!["always refused".to_owned()],
    };
    let limits: Vec<_> = limits.into_iter().map(|limit| view! { <div>{limit}</div> }).collect();
    view! {
        <tr>
            <td>
                <span class="quiet">{body.namespace.clone()}" / "</span>
                <A href=move || tenant.page(&format!("rules/{}", rule.id)) attr:class="name">{body.name.clone()}</A>
            </td>
            <td>
                <div>{words::capital(&words::matches(&body.conditions))}</div>
                <div class="quiet">{words::counted_by(&body.count_by)}</div>
            </td>
            <td>{limits}</td>
            <td><ModeBadge mode=body.mode /></td>
        </tr>
    }
}
