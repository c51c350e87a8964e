//! The gates: the state of each, and how long the latest changes took to reach them.

mod cards;
mod timeline;

use std::time::Duration;

use leptos::prelude::*;
use weir_wire::replicas::{Replicas, Rollouts};
use weir_wire::stats::Event;

use crate::api::{Api, StatsScope};
use crate::components::control_flow::Show;
use crate::components::feedback::{Empty, Skeleton};
use crate::components::page::PageHeader;
use crate::components::region::{RegionPicker, region_in_url};
use crate::components::remote_data::{RemoteData, fetch_after, fetch_data, show_latest_shaped};
use crate::components::timer::repeat;
use crate::model::duration::about;
use crate::model::gate_load::total_rate;
use crate::model::number::quantity;
use crate::model::rollout_times::RolloutTimes;
use crate::pages::shell::TenantId;
use crate::pages::traffic::Tile;
use cards::GateCards;
use timeline::RolloutTimeline;

/// The interval between two readings of the gates.
const REFRESH: Duration = Duration::from_secs(5);

#[component]
pub fn Gates() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let replicas = fetch_data(move || api.replicas(&tenant.get()));
    let rollouts = fetch_data(move || api.rollouts(&tenant.get()));
    view! {
        <PageHeader title="Gates" lead="Gates that reported in the last 15 seconds" />
        <GateStates replicas rollouts events=changes_of(rollouts) />
    }
}

/// The changes of the last week, fetched again for each rollout.
fn changes_of(rollouts: RemoteData<Rollouts>) -> Signal<Vec<Event>> {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let newest = rollouts.latest(|rollouts| Some(rollouts.data.first()?.rulebook_version));
    let events = fetch_after(Signal::derive(move || newest.get().is_some()), move || {
        newest.track();
        api.events(&StatsScope::last(tenant.get(), WEEK_MS))
    });
    Signal::derive(move || events.data().map(|events| events.data).unwrap_or_default())
}

const WEEK_MS: i64 = 7 * 86_400_000;

/// The gates and rollouts, which are read again and again.
#[component]
pub(super) fn GateStates(
    replicas: RemoteData<Replicas>,
    rollouts: RemoteData<Rollouts>,
    /// The changes; operators see it of no tenant.
    #[prop(optional, into)]
    events: Signal<Vec<Event>>,
) -> impl IntoView {
    repeat(
        || Some(REFRESH),
        move || {
            replicas.poll();
            rollouts.poll();
        },
    );
    let region = region_in_url();
    let known = replicas.latest(|found| found.regions.into_iter().collect());
    view! {
        <RegionPicker region known />
        {show_latest_shaped(replicas, Skeleton::Cards, move |replicas| {
            let replicas = Signal::derive(move || of_region(replicas.get(), &region.value.get()));
            view! {
                <Totals replicas rollouts=Signal::derive(move || rollouts.data()) />
                <GateCards replicas />
            }
        })}
        {show_latest_shaped(rollouts, Skeleton::Card, move |rollouts| view! {
            <RolloutTimeline rollouts events replicas=Signal::derive(move || replicas.data()) />
        })}
    }
}

/// Only the gates of a region; empty for all.
fn of_region(mut replicas: Replicas, region: &str) -> Replicas {
    replicas.data.retain(|gate| region.is_empty() || gate.region.as_deref() == Some(region));
    replicas
}

/// Whether all gates serve the current rules, and how long changes take.
#[component]
fn Totals(replicas: Signal<Replicas>, rollouts: Signal<Option<Rollouts>>) -> impl IntoView {
    let count = move |of: fn(&Replicas) -> usize| replicas.with(of);
    let live = |replicas: &Replicas| {
        let version = replicas.tenant_version;
        replicas.data.iter().filter(|gate| gate.rulebook_version >= version).count()
    };
    let gates = |replicas: &Replicas| replicas.data.len();
    let summary =
        move || format!("The current rules are live on {} of {} gates.", count(live), count(gates));
    let times =
        Memo::new(move |_| rollouts.with(|rollouts| RolloutTimes::of(&rollouts.as_ref()?.data)));
    let time = move |of: fn(RolloutTimes) -> u64| {
        Signal::derive(move || times.get().map_or_else(|| "–".to_owned(), |times| about(of(times))))
    };
    let changes = move || match times.get() {
        None => "no change has reached all gates yet".to_owned(),
        Some(times) => format!("of the last {}", quantity(times.changes, "change", "changes")),
    };
    let rate = Memo::new(move |_| replicas.with(|replicas| total_rate(&replicas.data)));
    let class = move || if count(live) < count(gates) { "tile-degraded" } else { "" }.to_owned();
    view! {
        <Show when=move || { count(gates) > 0 } fallback=|| view! {
            <Empty title="No gates are running">
                <p>"Gates answer checks. Start one with "<code>"weir serve --roles gate"</code>"."</p>
            </Empty>
        }>
            <p class="sentence">{summary}</p>
            <dl class="tiles">
                <Tile
                    name="Gates up to date"
                    value=Signal::derive(move || format!("{} of {}", count(live), count(gates)))
                    class=Signal::derive(class)
                />
                <Show when=move || rate.with(Option::is_some)>
                    <Tile
                        name="Checks per second"
                        value=Signal::derive(move || rate.get().unwrap_or_default())
                        note="of all tenants, at all gates"
                    />
                </Show>
                <Tile name="Rollout, median" value=time(|times| times.median_ms) note=Signal::derive(changes) />
                <Tile name="Rollout, slowest" value=time(|times| times.slowest_ms) note=Signal::derive(changes) />
            </dl>
        </Show>
    }
}
