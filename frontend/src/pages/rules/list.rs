//! The list of rules: filter, table, and the actions of selected rules.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::FutureExt as _;
use leptos::prelude::*;
use weir_wire::page::Page;
use weir_wire::rules::RuleAnswer;
use weir_wire::stats::{RuleSeries, RulesSeries, Summary, UnmatchedChecks};

use super::bulk::BulkBar;
use super::columns::columns;
use super::filter::Filter;
use super::state::RuleState;
use crate::api::{Api, StatsScope};
use crate::components::data_table::{DataTable, TableOptions, table_in_url};
use crate::components::feedback::{Empty, ProblemPanel};
use crate::components::namespace::namespace_in_url;
use crate::components::remote_data::fetch_data;
use crate::components::timer::repeat;
use crate::components::url_state::url_state;
use crate::model::rule_list::{RuleFilter, text};
use crate::pages::shell::TenantId;
use crate::pages::traffic::Unmatched;

/// The interval between two readings of the last hour.
const REFRESH: Duration = Duration::from_secs(10);
const HOUR_MS: i64 = 3_600_000;

/// The first page of the list is shown at once; the rest follows when all rules have loaded.
#[component]
pub(super) fn List(first: Page<RuleAnswer>) -> impl IntoView {
    let filter = url_state(
        &RuleFilter::PARAMETERS,
        |url| RuleFilter::of(|name| url.get(name)),
        RuleFilter::parameters,
    );
    let namespace = namespace_in_url();
    let Page { data, next_cursor } = first;
    let rules = RwSignal::new(data);
    let state = RuleState::new(rules, last_hour());
    // Computed when the filter first needs them, and then only when the rules change.
    let texts = Memo::new(move |_| rules.with(|rules| rules.iter().map(text).collect::<Vec<_>>()));
    let shown = Memo::new(move |_| {
        let (filter, namespace) = (filter.value.get(), namespace.value.get());
        let matching = |texts: &[String]| {
            let denies = |id: &str| state.denies(id);
            rules.with(|rules| filter.matching(&namespace, rules, texts, denies))
        };
        if filter.needs_texts() { texts.with(|texts| matching(texts)) } else { matching(&[]) }
    });
    let known = Signal::derive(move || {
        rules.with(|rules| rules.iter().map(|rule| rule.rule.namespace.clone()).collect())
    });
    let clear = move |_| {
        filter.set.run(RuleFilter::default());
        namespace.set.run(String::new());
    };
    let tenant = expect_context::<TenantId>();
    let options = TableOptions {
        shown: Some(shown.into()),
        selected: Some(state.selected),
        group: Some(|rule: &RuleAnswer| rule.rule.namespace.clone()),
        link: Some(Callback::new(move |rule: RuleAnswer| {
            tenant.page_now(&format!("rules/{}", rule.id))
        })),
        is_virtual: true,
        ..TableOptions::default()
    };
    view! {
        <Unmatched found=unmatched_last_hour(namespace.value) />
        <Filter filter namespace known />
        {next_cursor.map(|cursor| view! { <RemainingRules cursor rules /> })}
        <DataTable
            label="Rules"
            nouns=("rule", "rules")
            rows=rules
            columns=columns(state)
            id=|rule| rule.id.clone()
            view=table_in_url()
            options
            empty=move || view! {
                <Empty title="No rules match">
                    <button type="button" class="button" on:click=clear>"Clear filters"</button>
                </Empty>
            }
        />
        <BulkBar state />
    }
}

/// The decisions of the last hour by rule id, read again while the page is open.
pub fn last_hour() -> Memo<BTreeMap<String, RuleSeries>> {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let hour = fetch_data(move || api.rules_last_hour(&tenant.get()));
    repeat(|| Some(REFRESH), move || hour.poll());
    let by_id = |hour: RulesSeries| {
        hour.data.into_iter().map(|series| (series.rule_id.clone(), series)).collect()
    };
    hour.latest(by_id)
}

/// The namespaces of the last hour with checks that met no rule, read again while the page is open.
fn unmatched_last_hour(namespace: Signal<String>) -> Memo<Vec<UnmatchedChecks>> {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let hour = fetch_data(move || {
        let about = StatsScope::last(tenant.get(), HOUR_MS);
        api.summary(&StatsScope { namespace: namespace.get(), ..about })
    });
    repeat(|| Some(REFRESH), move || hour.poll());
    hour.latest(|summary: Summary| summary.unmatched)
}

/// Fetches the remaining rules, and says so meanwhile.
#[component]
fn RemainingRules(cursor: String, rules: RwSignal<Vec<RuleAnswer>>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let others = fetch_data(move || {
        let (tenant, cursor) = (tenant.now(), cursor.clone());
        async move { api.rules_after(&tenant, cursor).await }.boxed_local()
    });
    Effect::new(move |_| {
        if let Some(mut others) = others.data() {
            rules.update(|rules| rules.append(&mut others));
        }
    });
    move || match (others.data(), others.problem()) {
        (Some(_), _) => ().into_any(),
        (None, Some(problem)) => {
            let retry = Callback::new(move |()| others.refetch());
            view! { <ProblemPanel problem retry /> }.into_any()
        }
        (None, None) => {
            let loaded = rules.with_untracked(Vec::len);
            let notice = format!("Showing the first {loaded}. Loading more…");
            view! { <p class="note" role="status">{notice}</p> }.into_any()
        }
    }
}
