//! Denied checks in real time.

mod facets;
mod stream;

use leptos::prelude::*;
use weir_wire::stats::DenialEntry;

use crate::components::feedback::{Empty, Warning};
use crate::components::field::{Binding, TextField};
use crate::components::page::PageHeader;
use crate::components::time_series::TimeSeries;
use crate::model::chart::{ChartData, OUTCOMES};
use crate::model::live_filter::LiveFilter;
use crate::model::live_series::{live_series, silent};
use crate::model::number::quantity;
use crate::pages::subject_actions::SubjectActions;
use crate::pages::traffic::{DenialGroups, DenialTable, Tile};
use facets::Facets;
use stream::MAX_TICKS;
pub use stream::{MinuteSpark, Stream};

#[component]
pub fn Live() -> impl IntoView {
    let stream = Stream::new();
    let follow = stream.follow();
    let filter = RwSignal::new(LiveFilter::default());
    let grouped = RwSignal::new(false);
    let pause = move |_| stream.pause();
    let paused = move || match (stream.paused.get(), stream.waiting.with(Vec::len)) {
        (false, _) => "Pause".to_owned(),
        (true, 0) => "Resume".to_owned(),
        (true, some) => format!("Resume ({})", quantity(some, "new denial", "new denials")),
    };
    let text = Binding {
        value: Signal::derive(move || filter.with(|filter| filter.text.clone())),
        set: Callback::new(move |text| filter.update(|filter| filter.text = text)),
    };
    let group = move |_| grouped.update(|grouped| *grouped = !*grouped);
    view! {
        <PageHeader title="Live" lead="Denied checks in real time">
            <button type="button" class="button" aria-pressed=move || stream.paused.get().to_string() on:click=pause>{paused}</button>
        </PageHeader>
        {follow}
        <Show when=move || stream.lost.get()>
            <Warning>"The live stream was interrupted. Reconnecting; the Overview shows what you miss."</Warning>
        </Show>
        <CurrentRates stream />
        <Minute stream />
        <div class="filter" role="search">
            <TextField label="Filter by subject, rule or namespace" kind="search" value=text />
            <button type="button" class="button" aria-pressed=move || grouped.get().to_string() on:click=group>"Group by subject"</button>
        </div>
        <div class="live-columns">
            <Facets filter denials=stream.denials />
            <Denials stream filter grouped />
        </div>
    }
}

/// The current rates.
#[component]
fn CurrentRates(stream: Stream) -> impl IntoView {
    let checks = Signal::derive(move || stream.rate(|tick| tick.requests.checks()));
    let denied = Signal::derive(move || stream.rate(|tick| tick.requests.denied));
    let shadow = Signal::derive(move || stream.rate(|tick| tick.requests.shadow_denied));
    let degraded = Signal::derive(move || stream.rate(|tick| tick.requests.degraded));
    view! {
        <dl class="tiles">
            <Tile name="Checks per second, now" value=checks />
            <Tile name="Denied per second, now" value=denied class="tile-denied".to_owned() />
            <Tile name="Would deny per second, now" value=shadow class="tile-shadow".to_owned() />
            <Tile name="Without Redis per second, now" value=degraded />
        </dl>
    }
}

/// The last minute, second by second.
#[component]
fn Minute(stream: Stream) -> impl IntoView {
    let data = Signal::derive(move || {
        stream.ticks.with(|ticks| ChartData::of(&live_series(ticks, MAX_TICKS), &OUTCOMES))
    });
    let gaps = Signal::derive(move || stream.ticks.with(|ticks| silent(ticks, MAX_TICKS)));
    let known = Memo::new(move |_| stream.ticks.with(|ticks| !ticks.is_empty()));
    view! {
        <div class="minute">
            <Show when=move || known.get()><TimeSeries label="Checks" data gaps /></Show>
        </div>
    }
}

/// The denials that the filter shows.
#[component]
fn Denials(stream: Stream, filter: RwSignal<LiveFilter>, grouped: RwSignal<bool>) -> impl IntoView {
    let shown = Memo::new(move |_| {
        filter.with(|filter| {
            let shows = |denial: &&DenialEntry| filter.shows(denial);
            stream.denials.with(|all| all.iter().filter(shows).cloned().collect::<Vec<_>>())
        })
    });
    let none = Memo::new(move |_| shown.with(Vec::is_empty));
    let actions = SubjectActions::new(Callback::new(|()| {}));
    let list = move || {
        if grouped.get() {
            view! { <DenialGroups denials=shown.into() actions title="Denials by subject" /> }
                .into_any()
        } else {
            view! { <DenialTable denials=shown.into() actions /> }.into_any()
        }
    };
    view! {
        <Show when=move || !none.get() fallback=move || view! { <NoDenials stream filter /> }>{list}</Show>
    }
}

/// The reason why no denials are listed: the filter, a lost stream, or no denials.
#[component]
fn NoDenials(stream: Stream, filter: RwSignal<LiveFilter>) -> impl IntoView {
    let filtered = move || stream.denials.with(|denials| !denials.is_empty());
    move || {
        if filtered() {
            let text = filter.with(|filter| filter.text.clone());
            let title = if text.is_empty() {
                "No denials match the filter".to_owned()
            } else {
                format!("No denials match “{text}”")
            };
            let clear = move |_| filter.set(LiveFilter::default());
            return view! {
                <Empty title>
                    <p>"Clear the filter to see all denials since this page was opened."</p>
                    <button type="button" class="button" on:click=clear>"Clear filter"</button>
                </Empty>
            }
            .into_any();
        }
        if stream.lost.get() {
            return view! {
                <Empty title="Stream disconnected"><p>"Reconnecting. The Overview shows the denials of the last 24 hours."</p></Empty>
            }
            .into_any();
        }
        view! {
            <Empty title="No denials right now">
                <p>"New denials appear within two seconds. The Overview shows those of the last 24 hours."</p>
            </Empty>
        }
        .into_any()
    }
}
