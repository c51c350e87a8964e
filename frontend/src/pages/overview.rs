//! The traffic of the tenant, its state as one sentence, and what changed.

mod changed;
mod checklist;
mod state;

use leptos::prelude::*;
use weir_wire::stats::Summary;

use crate::api::Api;
use crate::components::control_flow::Show;
use crate::components::feedback::Skeleton;
use crate::components::namespace::namespace_in_url;
use crate::components::page::PageHeader;
use crate::components::region::{KnownRegions, OfRegion, RegionPicker, region_in_url};
use crate::components::remote_data::{fetch_data, show_latest_shaped};
use crate::components::time_range::{TimeRangePicker, time_in_url};
use crate::components::time_series::Crosshair;
use crate::model::latency::newest;
use crate::model::number::compact;
use crate::pages::live::{MinuteSpark, Stream};
use crate::pages::namespace_filter::NamespaceFilter;
use crate::pages::shell::TenantId;
use crate::pages::traffic::{
    ExportTop, LatestDenials, Tile, TopDenied, TopSubjects, Totals, Traffic, TrafficChart,
    TrafficFilter, Unmatched, refresh, since,
};
use changed::{Changed, RULES_COMPARED};
use checklist::Checklist;
use state::StateSentence;

#[component]
pub fn Overview() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (time, namespace, region) = (time_in_url(), namespace_in_url(), region_in_url());
    let known = expect_context::<KnownRegions>().0;
    let filter = TrafficFilter { tenant, namespace: namespace.value, region: region.value, time };
    provide_context(Crosshair(RwSignal::new(None)));
    let traffic = Traffic::fetch(None, filter);
    let first_check_ms = traffic.first_check_ms(time);
    let rules = fetch_data(move || api.top(&filter.scope(None), "rule", RULES_COMPARED));
    refresh(time, move || rules.poll());
    let stream = Stream::new();
    let follow = stream.follow();
    let now = move || {
        let value = Signal::derive(move || stream.rate(|tick| tick.requests.checks()));
        // The stream has no rates of namespaces.
        let name = Signal::derive(move || {
            let of_all = namespace.value.with(String::is_empty);
            if of_all { "Checks per second, now" } else { "Checks per second, all namespaces" }
                .to_owned()
        });
        let note = Signal::derive(move || {
            let checks = traffic.summary.data().map(|summary| summary.counts.checks());
            checks
                .map(|checks| match first_check_ms.get() {
                    Some(at_ms) => format!("{} checks{}", compact(checks), since(at_ms)),
                    None => format!("{} checks in the period", compact(checks)),
                })
                .unwrap_or_default()
        });
        view! { <Tile name value note class="tile-now".to_owned()><MinuteSpark stream /></Tile> }
            .into_any()
    };
    let latency = Memo::new(move |last: Option<&Option<(String, String)>>| {
        traffic.series.data().map_or_else(|| last.cloned().flatten(), |series| newest(&series))
    });
    let p99 = Signal::derive(move || latency.get().map(|(p99, _)| p99).unwrap_or_default());
    let median = Signal::derive(move || {
        let text = latency.get().map(|(_, median)| format!("at the gates; median {median}"));
        text.unwrap_or_default()
    });
    let checked = Memo::new(move |_| {
        traffic.summary.data().is_some_and(|summary| summary.counts.checks() > 0)
    });
    let unmatched = traffic.summary.latest(|summary: Summary| summary.unmatched);
    let durations = move || {
        view! {
            <Show when=move || latency.with(Option::is_some)>
                <Tile name="Check latency, p99" value=p99 note=median />
            </Show>
        }
        .into_any()
    };
    view! {
        <PageHeader title="Overview">
            <NamespaceFilter namespace />
            <RegionPicker region known />
            <TimeRangePicker time />
        </PageHeader>
        {move || traffic.first_shown.get().then(follow)}
        <OfRegion region=region.value />
        <StateSentence traffic rules />
        <Unmatched found=unmatched />
        <Checklist ready=traffic.first_shown checked />
        <div class="stack">{show_latest_shaped(traffic.summary, Skeleton::Tiles, move |summary| view! { <Totals summary earlier=traffic.earlier(time) comparison=Signal::derive(move || time.value.get().comparison) first_check_ms first=now() last=durations() /> })}</div>
        <div class="stack"><TrafficChart traffic time /></div>
        <div class="columns">
            <div class="stack">
                <Changed rules filter traffic />
                {show_latest_shaped(rules, Skeleton::Card, move |top| view! {
                    <TopDenied title="Top rules by denials" top />
                    <div class="actions"><ExportTop scope=Signal::derive(move || filter.scope(None)) by="rule" /></div>
                })}
            </div>
            <div><TopSubjects traffic /></div>
        </div>
        <LatestDenials traffic />
    }
}
