//! The traffic of the tenant, its state as one sentence, and what changed.

mod changed;
mod state;

use leptos::prelude::*;

use crate::api::Api;
use crate::components::page::PageHeader;
use crate::components::remote_data::{fetch_data, show_latest};
use crate::components::time_range::{TimeRangePicker, time_in_url};
use crate::components::time_series::Crosshair;
use crate::pages::live::{MinuteSpark, Stream};
use crate::pages::shell::TenantId;
use crate::pages::traffic::{
    LatestDenials, Tile, TopDenied, TopSubjects, Totals, Traffic, TrafficChart, refresh, scope,
};
use changed::{Changed, RULES_COMPARED};
use state::StateSentence;

#[component]
pub fn Overview() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let time = time_in_url();
    provide_context(Crosshair(RwSignal::new(None)));
    let traffic = Traffic::fetch(None, time);
    let rules = fetch_data(move || api.top(scope(tenant, None, time), "rule", RULES_COMPARED));
    refresh(time, move || rules.refetch());
    let stream = Stream::new();
    let follow = stream.follow();
    let now = move || {
        let value = Signal::derive(move || stream.rate(|tick| tick.requests.checks()));
        view! { <Tile name="Checks per second, now" value class="tile-now".to_owned()><MinuteSpark stream /></Tile> }
            .into_any()
    };
    view! {
        <PageHeader title="Overview">
            <TimeRangePicker time />
        </PageHeader>
        {follow}
        <StateSentence traffic rules />
        <div class="stack tiles-place">{show_latest(traffic.summary, move |summary| view! { <Totals summary first=now() /> })}</div>
        <div class="stack chart-place"><TrafficChart traffic time /></div>
        <div class="columns">
            <div class="stack">
                <Changed rules time events=traffic.events />
                {show_latest(rules, move |top| view! { <TopDenied title="Top rules by denials" top /> })}
            </div>
            <TopSubjects traffic />
        </div>
        <LatestDenials traffic />
    }
}
