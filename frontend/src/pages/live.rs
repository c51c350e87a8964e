//! Denied checks in real time.

mod drawer;
mod facets;
mod stream;

use leptos::prelude::*;
use weir_wire::stats::DenialEntry;

use crate::components::control_flow::Show;
use crate::components::feedback::{Empty, Warning};
use crate::components::field::{Binding, TextField};
use crate::components::namespace::namespace_in_url;
use crate::components::page::PageHeader;
use crate::components::time_series::TimeSeries;
use crate::model::chart::{ChartData, OUTCOMES};
use crate::model::live_filter::LiveFilter;
use crate::model::live_series::{live_series, silent};
use crate::model::number::quantity;
use crate::pages::namespace_filter::NamespaceFilter;
use crate::pages::subject_actions::{SubjectActions, SubjectQuestion};
use crate::pages::traffic::{DenialGroups, DenialTable, Tile};
use drawer::DenialDrawer;
use facets::Facets;
use stream::MAX_TICKS;
pub use stream::{MinuteSpark, Stream};

#[component]
pub fn Live() -> impl IntoView {
    let stream = Stream::new();
    let follow = stream.follow();
    stream.fill_minute();
    let filter = RwSignal::new(LiveFilter::default());
    let namespace = namespace_in_url();
    follow_namespace(filter, namespace);
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
        <CurrentRates stream namespace=namespace.value />
        <Minute stream />
        <div class="filter" role="search">
            <TextField label="Filter by subject, rule or namespace" kind="search" value=text />
            <NamespaceFilter namespace />
            <button type="button" class="button" aria-pressed=move || grouped.get().to_string() on:click=group>"Group by subject"</button>
        </div>
        <div class="live-columns">
            <Facets filter denials=stream.denials />
            <Denials stream filter grouped />
        </div>
    }
}

/// Keeps the facet of namespaces and the URL equal.
fn follow_namespace(filter: RwSignal<LiveFilter>, namespace: Binding<String>) {
    Effect::new(move |_| {
        let in_url = namespace.value.get();
        if filter.with_untracked(|filter| filter.namespace() != in_url) {
            filter.update(|filter| filter.set_namespace(in_url));
        }
    });
    let chosen = Memo::new(move |_| filter.with(|filter| filter.namespace().to_owned()));
    Effect::new(move |before: Option<String>| {
        let chosen = chosen.get();
        if before.is_some_and(|before| before != chosen)
            && namespace.value.with_untracked(|in_url| *in_url != chosen)
        {
            namespace.set.run(chosen.clone());
        }
        chosen
    });
}

/// The current rates, which the stream has for all namespaces together.
#[component]
fn CurrentRates(stream: Stream, namespace: Signal<String>) -> impl IntoView {
    let is_filtered = Memo::new(move |_| namespace.with(|namespace| !namespace.is_empty()));
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
        <Show when=move || is_filtered.get()>
            <p class="note">"Rates and chart are of all namespaces; the denials below are of one."</p>
        </Show>
    }
}

/// The last minute, second by second.
#[component]
fn Minute(stream: Stream) -> impl IntoView {
    let data = Signal::derive(move || {
        stream.ticks.with(|ticks| ChartData::of(&live_series(ticks, MAX_TICKS), &OUTCOMES))
    });
    let gaps = Signal::derive(move || stream.ticks.with(|ticks| silent(ticks, MAX_TICKS)));
    let markers = Signal::derive(move || data.with(ChartData::outages));
    let known = Memo::new(move |_| stream.ticks.with(|ticks| !ticks.is_empty()));
    view! {
        <div class="minute">
            <Show when=move || known.get()><TimeSeries label="Checks" data gaps markers /></Show>
            <Show when=move || stream.filled.get()><p class="note">"Before this page was opened: averages of 10 seconds."</p></Show>
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
    let (chosen, open) = (RwSignal::new(None), RwSignal::new(false));
    let choose = Callback::new(move |denial| {
        chosen.set(Some(denial));
        open.set(true);
    });
    let list = move || {
        if grouped.get() {
            view! { <DenialGroups denials=shown.into() actions title="Denials by subject" /> }
                .into_any()
        } else {
            view! { <DenialTable denials=shown.into() actions open=choose /> }.into_any()
        }
    };
    view! {
        <SubjectQuestion actions />
        <DenialDrawer chosen open />
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
