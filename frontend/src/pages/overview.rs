//! The traffic of the tenant: allowed and denied checks, by rule and by subject.

mod latest;
mod top_denied;
mod totals;

use std::time::Duration;

use leptos::prelude::*;
use leptos_router::components::A;

use crate::api::{Api, StatsScope};
use crate::browser;
use crate::components::field::Binding;
use crate::components::page::PageHeader;
use crate::components::remote_data::{RemoteData, fetch_data, show_latest};
use crate::components::series_chart::SeriesChart;
use crate::components::time_range::{Freshness, TimeRangePicker, time_range_in_url};
use crate::components::timer::repeat;
use crate::model::rollout::Rollout;
use crate::model::time_range::TimeRange;
use crate::pages::shell::TenantId;
pub use latest::DenialRow;
use latest::LatestDenials;
use top_denied::TopDenied;
use totals::Totals;

#[component]
pub fn Overview() -> impl IntoView {
    let range = time_range_in_url();
    view! {
        <PageHeader title="Overview">
            <TimeRangePicker range />
        </PageHeader>
        <Traffic rule=None range />
        <RulebookStatus />
    }
}

/// Whether the gates serve the current rules.
#[component]
fn RulebookStatus() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let replicas = fetch_data(move || {
        let tenant = tenant.get();
        async move { api.replicas(&tenant).await }
    });
    repeat(|| Some(Duration::from_secs(5)), move || replicas.refetch());
    show_latest(replicas, move |replicas| {
        let status = move || {
            replicas
                .with(|replicas| Rollout::of(replicas.tenant_version, &replicas.data).to_string())
        };
        view! {
            <p class="note">
                "Current rules: "{status}". "<A href=move || tenant.page("gates")>"Gates"</A>
            </p>
        }
    })
}

/// The statistics of one rule or of all.
#[component]
pub fn Traffic(rule: Option<String>, range: Binding<TimeRange>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let rule_id = StoredValue::new(rule);
    let about = move || {
        let (from_ms, to_ms) = range.value.get().bounds_ms(browser::now_ms());
        StatsScope { tenant: tenant.get(), rule: rule_id.get_value(), from_ms, to_ms }
    };
    let series = fetch_data(move || api.series(about()));
    let summary = fetch_data(move || api.summary(about()));
    let subjects = fetch_data(move || api.top(about(), "subject"));
    let all_rules = rule_id.with_value(Option::is_none);
    let rules = all_rules.then(|| fetch_data(move || api.top(about(), "rule")));
    let denials = fetch_data(move || {
        let (tenant, rule) = (tenant.get(), rule_id.get_value());
        async move { api.denials(&tenant, rule.as_deref()).await }
    });
    let every = move || range.value.get().refresh_s().map(Duration::from_secs);
    repeat(every, move || {
        series.refetch();
        summary.refetch();
        subjects.refetch();
        if let Some(rules) = rules {
            rules.refetch();
        }
        denials.refetch();
    });
    let zoom = Callback::new(move |(from_ms, to_ms)| {
        range.set.run(TimeRange::Between { from_ms, to_ms });
    });
    view! {
        {show_latest(summary, |summary| view! { <Totals summary /> })}
        {show_latest(series, move |series| view! {
            <SeriesChart label="Checks" series on_zoom=zoom />
            <Freshness
                as_of=Signal::derive(move || series.with(|series| series.as_of))
                dropped=Signal::derive(move || series.with(|series| series.dropped))
            />
        })}
        <div class="columns">
            {rules.map(|rules| top_denied(rules, "Top rules by denials"))}
            {top_denied(subjects, "Most denied subjects")}
        </div>
        {show_latest(denials, |denials| view! { <LatestDenials denials /> })}
    }
}

fn top_denied(top: RemoteData<weir_wire::stats::Top>, title: &'static str) -> impl IntoView {
    show_latest(top, move |top| view! { <TopDenied title top /> })
}
