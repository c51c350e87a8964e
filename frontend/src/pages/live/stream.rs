//! The events of the live stream received so far.

use std::collections::VecDeque;

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::stats::{DenialEntry, LiveTick};

use crate::api::{Api, Connection, StatsScope};
use crate::charts::spark::{HEIGHT, WIDTH, spark};
use crate::model::live_series::fill;
use crate::model::number::per_second;
use crate::pages::shell::TenantId;

/// The received events; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Stream {
    pub ticks: RwSignal<VecDeque<LiveTick>>,
    /// Newest first.
    pub denials: RwSignal<Vec<DenialEntry>>,
    /// Denials received while paused, newest first.
    pub waiting: RwSignal<Vec<DenialEntry>>,
    pub paused: RwSignal<bool>,
    pub lost: RwSignal<bool>,
    /// Whether the chart shows averages of the time before the first tick.
    pub filled: RwSignal<bool>,
    connection: Connection,
}

/// The number of seconds in the chart.
pub const MAX_TICKS: usize = 60;
/// The time of the statistics that fill the chart: a minute, and a step that began before it.
const FILLED_MS: i64 = 70_000;
/// The maximum number of denials listed.
const MAX_DENIALS: usize = 500;

impl Stream {
    pub fn new() -> Self {
        Self {
            ticks: RwSignal::default(),
            denials: RwSignal::default(),
            waiting: RwSignal::default(),
            paused: RwSignal::new(false),
            lost: RwSignal::new(false),
            filled: RwSignal::new(false),
            connection: expect_context(),
        }
    }

    /// Follows the tenant's stream while the returned view is rendered.
    pub fn follow(self) -> impl Fn() + Copy {
        let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
        let on_tick = Callback::new(move |tick| self.take(tick));
        let lost = Callback::new(move |()| {
            self.lost.try_set(true);
        });
        move || api.subscribe(tenant.get(), on_tick, lost)
    }

    /// Fills the minute before the first tick with the averages of the stored statistics.
    pub fn fill_minute(self) {
        let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
        let begun = Memo::new(move |_| self.ticks.with(|ticks| !ticks.is_empty()));
        Effect::new(move |_| {
            if !begun.get() {
                return;
            }
            let scope = StatsScope::last(tenant.now(), FILLED_MS);
            spawn_local(async move {
                let Ok(series) = api.fine_series(&scope).await else { return };
                let filled = self.ticks.try_update(|ticks| fill(ticks, &series, MAX_TICKS));
                self.filled.try_set(filled == Some(true));
            });
        });
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
    pub fn pause(self) {
        if self.paused.get_untracked() {
            let waiting = self.waiting.try_update(std::mem::take).unwrap_or_default();
            self.denials.update(|listed| prepend(listed, waiting));
        }
        self.paused.update(|paused| *paused = !*paused);
    }

    /// The rate of the newest tick, unknown while no server answers; tracked.
    pub fn rate(self, of: fn(&LiveTick) -> u64) -> String {
        if self.lost.get() || self.connection.problem().is_some() {
            return "–".to_owned();
        }
        let newest = self.ticks.with(|ticks| ticks.back().map(|tick| (of(tick), tick.span_ms)));
        newest.map_or_else(
            || "…".to_owned(),
            |(number, span_ms)| per_second(number * 1000, u64::from(span_ms).max(1)),
        )
    }
}

/// Checks and denials of the last minute, second by second.
#[component]
pub fn MinuteSpark(stream: Stream) -> impl IntoView {
    let path = move |of: fn(&LiveTick) -> u64| {
        stream.ticks.with(|ticks| {
            let most = ticks.iter().map(|tick| tick.requests.checks()).max().unwrap_or(0);
            spark(&ticks.iter().map(of).collect::<Vec<_>>(), most)
        })
    };
    view! {
        <span class="spark">
            <svg viewBox=format!("0 0 {WIDTH} {HEIGHT}") preserveAspectRatio="none" role="img" aria-label="Last minute: checks and denials">
                <path class="checks" d=move || path(|tick| tick.requests.checks()) />
                <path class="denied" d=move || path(|tick| tick.requests.denied) />
            </svg>
        </span>
    }
}

fn prepend(listed: &mut Vec<DenialEntry>, newer: Vec<DenialEntry>) {
    listed.splice(0..0, newer);
    listed.truncate(MAX_DENIALS);
}
