//! Denied checks in real time.

use std::collections::VecDeque;

use leptos::prelude::*;
use weir_wire::stats::{DenialEntry, LiveTick};

use crate::api::Api;
use crate::charts::spark::{HEIGHT, WIDTH, spark};
use crate::components::feedback::{Empty, Warning};
use crate::components::field::TextField;
use crate::components::page::PageHeader;
use crate::model::number::{per_second, quantity};
use crate::model::subject;
use crate::pages::overview::DenialRow;
use crate::pages::shell::TenantId;

#[component]
pub fn Live() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let stream = Stream::new();
    let on_tick = Callback::new(move |tick| stream.take(tick));
    let lost = Callback::new(move |()| stream.lost.set(true));
    let follow = move || {
        api.subscribe(tenant.get(), on_tick, lost);
    };
    let typed = RwSignal::new(String::new());
    let pause = move |_| stream.pause();
    let paused = move || match (stream.paused.get(), stream.waiting.with(Vec::len)) {
        (false, _) => "Pause".to_owned(),
        (true, 0) => "Resume".to_owned(),
        (true, some) => format!("Resume ({})", quantity(some, "new denial", "new denials")),
    };
    view! {
        <PageHeader title="Live" lead="Denied checks in real time">
            <button type="button" class="button" aria-pressed=move || stream.paused.get().to_string() on:click=pause>{paused}</button>
        </PageHeader>
        {follow}
        <Show when=move || stream.lost.get()>
            <Warning>"The live stream was interrupted. Reconnecting; the Overview shows what you miss."</Warning>
        </Show>
        <CurrentRates stream />
        <div class="filter" role="search"><TextField label="Filter by subject, rule or namespace" kind="search" value=typed /></div>
        <DenialTable stream typed />
    }
}

/// The events received so far; cheap to copy.
#[derive(Debug, Clone, Copy)]
struct Stream {
    ticks: RwSignal<VecDeque<LiveTick>>,
    /// Newest first.
    denials: RwSignal<Vec<DenialEntry>>,
    /// Denials received while paused, newest first.
    waiting: RwSignal<Vec<DenialEntry>>,
    paused: RwSignal<bool>,
    lost: RwSignal<bool>,
}

/// The number of seconds in the chart.
const MAX_TICKS: usize = 60;
/// The maximum number of denials listed.
const MAX_DENIALS: usize = 500;

impl Stream {
    fn new() -> Self {
        Self {
            ticks: RwSignal::default(),
            denials: RwSignal::default(),
            waiting: RwSignal::default(),
            paused: RwSignal::new(false),
            lost: RwSignal::new(false),
        }
    }

    fn take(self, mut tick: LiveTick) {
        let denials = std::mem::take(&mut tick.denials);
        self.lost.set(false);
        self.ticks.update(|ticks| {
            ticks.push_back(tick);
            if ticks.len() > MAX_TICKS {
                ticks.pop_front();
            }
        });
        if !denials.is_empty() {
            let into = if self.paused.get_untracked() { self.waiting } else { self.denials };
            into.update(|listed| prepend(listed, denials));
        }
    }

    /// Pauses the list, or resumes it with the denials received meanwhile.
    fn pause(self) {
        if self.paused.get_untracked() {
            let waiting = self.waiting.try_update(std::mem::take).unwrap_or_default();
            self.denials.update(|listed| prepend(listed, waiting));
        }
        self.paused.update(|paused| *paused = !*paused);
    }
}

fn prepend(listed: &mut Vec<DenialEntry>, newer: Vec<DenialEntry>) {
    listed.splice(0..0, newer);
    listed.truncate(MAX_DENIALS);
}

/// The current rates.
#[component]
fn CurrentRates(stream: Stream) -> impl IntoView {
    let rate = move |of: fn(&LiveTick) -> u64| {
        let newest = stream.ticks.with(|ticks| ticks.back().map(|tick| (of(tick), tick.span_ms)));
        newest.map_or_else(
            || "…".to_owned(),
            |(number, span_ms)| per_second(number * 1000, u64::from(span_ms).max(1)),
        )
    };
    let path = move |of: fn(&LiveTick) -> u64| {
        stream.ticks.with(|ticks| {
            let most = ticks.iter().map(|tick| tick.requests.checks()).max().unwrap_or(0);
            spark(&ticks.iter().map(of).collect::<Vec<_>>(), most)
        })
    };
    view! {
        <dl class="tiles">
            <div class="tile"><dt>"Checks per second, now"</dt><dd>{move || rate(|tick| tick.requests.checks())}</dd></div>
            <div class="tile"><dt>"Denied per second, now"</dt><dd>{move || rate(|tick| tick.requests.denied)}</dd></div>
            <div class="tile">
                <dt>"Last minute"</dt>
                <dd class="spark">
                    <svg viewBox=format!("0 0 {WIDTH} {HEIGHT}") role="img" aria-label="Checks and denials of the last minute">
                        <path class="checks" d=move || path(|tick| tick.requests.checks()) />
                        <path class="denied" d=move || path(|tick| tick.requests.denied) />
                    </svg>
                </dd>
            </div>
        </dl>
    }
}

#[component]
fn DenialTable(stream: Stream, typed: RwSignal<String>) -> impl IntoView {
    let shown = Memo::new(move |_| {
        let typed = typed.get().to_lowercase();
        let has = |denial: &&DenialEntry| {
            let text =
                format!("{} {} {}", subject::label(&denial.subject), denial.rule, denial.namespace);
            text.to_lowercase().contains(&typed)
        };
        stream.denials.with(|all| all.iter().filter(has).cloned().collect::<Vec<_>>())
    });
    let none = Memo::new(move |_| shown.with(Vec::is_empty));
    view! {
        <Show when=move || !none.get() fallback=move || view! { <NoDenials stream typed /> }>
            <div class="table-wrap" tabindex="0" role="region" aria-label="Denials">
                <table class="denials">
                    <thead><tr>
                        <th scope="col">"Time"</th><th scope="col">"Subject"</th><th scope="col">"Rule"</th>
                        <th scope="col" class="number">"Cost"</th><th scope="col">"Retry"</th>
                    </tr></thead>
                    <tbody>
                        <For each=move || shown.get() key=|denial| denial.id.clone() let:denial>
                            <DenialRow denial />
                        </For>
                    </tbody>
                </table>
            </div>
        </Show>
    }
}

/// The reason why no denials are listed: the filter, a lost stream, or no denials.
#[component]
fn NoDenials(stream: Stream, typed: RwSignal<String>) -> impl IntoView {
    let filtered = move || stream.denials.with(|denials| !denials.is_empty());
    move || {
        if filtered() {
            let title = format!("No denials match “{}”", typed.get());
            return view! { <Empty title><p>"Clear the filter to see all denials since this page was opened."</p></Empty> }
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
