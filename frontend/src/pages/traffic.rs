//! The statistics of one rule or of all: totals, a chart, the most denied, and the latest denials.

mod denials;
mod export;
mod top_denied;
mod totals;
mod unmatched;

use std::time::Duration;

use futures_util::future::ready;
use futures_util::{FutureExt as _, TryFutureExt as _};
use leptos::prelude::*;
use weir_wire::stats::{Counts, Denials, Events, Series, Summary, Top};

use crate::api::{Api, StatsScope};
use crate::browser;
use crate::charts::time_ticks::{day, time_of_day};
use crate::components::feedback::Skeleton;
use crate::components::field::Binding;
use crate::components::remote_data::{RemoteData, fetch_after, fetch_data, show_latest_shaped};
use crate::components::time_range::{Freshness, zoom_of};
use crate::components::time_series::TimeSeries;
use crate::components::timer::repeat;
use crate::model::chart::{ChartData, OUTCOMES, created_ms};
use crate::model::marker::Marker;
use crate::model::time_range::{Comparison, TimeRange, TimeSelection};
use crate::pages::shell::TenantId;
use crate::pages::subject_actions::{SubjectActions, SubjectQuestion};
pub use denials::{DenialGroups, DenialTable, target};
use export::ExportDenials;
pub use export::{ExportSubjects, ExportTop};
pub use top_denied::{TopDenied, TopNotes};
pub use totals::{Tile, Totals};
pub use unmatched::Unmatched;

/// The statistics of a time, refetched while the time moves on; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Traffic {
    pub series: RemoteData<Series>,
    compared: RemoteData<Option<Series>>,
    /// The totals of the day or the week before, if the person compares with them.
    before: RemoteData<Option<Summary>>,
    pub summary: RemoteData<Summary>,
    pub subjects: RemoteData<Top>,
    denials: RemoteData<Denials>,
    /// The changes, alerts and outages.
    pub events: RemoteData<Events>,
    /// Whether the chart and the totals have loaded, which other data must not delay.
    pub first_shown: Memo<bool>,
    scope: Signal<StatsScope>,
}

/// The traffic that a page shows; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct TrafficFilter {
    pub tenant: TenantId,
    /// Empty for all.
    pub namespace: Signal<String>,
    /// Empty for all.
    pub region: Signal<String>,
    pub time: Binding<TimeSelection>,
}

impl TrafficFilter {
    /// The scope of the selected time; tracked.
    pub fn scope(self, rule: Option<String>) -> StatsScope {
        let (from_ms, to_ms) = self.time.value.get().range.bounds_ms(browser::now_ms());
        let (namespace, region) = (self.namespace.get(), self.region.get());
        StatsScope { tenant: self.tenant.get(), rule, namespace, region, from_ms, to_ms }
    }
}

/// Calls `poll` as often as statistics of the selected time change.
pub fn refresh(time: Binding<TimeSelection>, poll: impl Fn() + 'static) {
    repeat(move || time.value.get().range.refresh_s().map(Duration::from_secs), poll);
}

impl Traffic {
    /// Fetches the statistics of a rule, or of all.
    pub fn fetch(rule: Option<String>, filter: TrafficFilter) -> Self {
        let api = expect_context::<Api>();
        let TrafficFilter { tenant, namespace, time, .. } = filter;
        let rule = StoredValue::new(rule);
        let about = move || filter.scope(rule.get_value());
        let earlier = move || {
            let (comparison, about) = (time.value.get().comparison, about());
            let bounds = comparison.bounds_ms((about.from_ms, about.to_ms));
            let scope = bounds.map(|(from_ms, to_ms)| StatsScope { from_ms, to_ms, ..about })?;
            Some((scope, comparison))
        };
        let compared = move || match earlier() {
            Some((scope, _)) => api.series(&scope).map_ok(Some).boxed_local(),
            None => ready(Ok(None)).boxed_local(),
        };
        // Each summary has the previous period.
        let before = move || match earlier() {
            Some((scope, Comparison::DayBefore | Comparison::WeekBefore)) => {
                api.summary(&scope).map_ok(Some).boxed_local()
            }
            _ => ready(Ok(None)).boxed_local(),
        };
        let series = fetch_data(move || api.series(&about()));
        let summary = fetch_data(move || api.summary(&about()));
        let first_shown = Memo::new(move |_| series.is_settled() && summary.is_settled());
        let traffic = Self {
            series,
            compared: fetch_data(compared),
            before: fetch_data(before),
            summary,
            subjects: fetch_data(move || api.top(&about(), "subject", 10)),
            denials: fetch_data(move || {
                let (tenant, rule, namespace) = (tenant.get(), rule.get_value(), namespace.get());
                api.denials(&tenant, rule.as_deref(), &namespace, None)
            }),
            events: fetch_after(first_shown, move || api.events(&about())),
            first_shown,
            scope: Signal::derive(about),
        };
        refresh(time, move || traffic.poll());
        traffic
    }

    /// The start of the checks, if the tenant was created within the time.
    pub fn first_check_ms(self, time: Binding<TimeSelection>) -> Memo<Option<i64>> {
        Memo::new(move |_| {
            let (series, selected) = (self.series.data()?, time.value.get());
            let created_ms = self.scope.with(|scope| created_ms(&scope.tenant))?;
            let is_young = created_ms >= series.start.0.as_millis();
            let is_whole = matches!(selected.range, TimeRange::Last(_))
                && selected.comparison == Comparison::Nothing;
            ChartData::of(&series, &OUTCOMES).first_check_ms().filter(|_| is_young && is_whole)
        })
    }

    /// The totals to compare with: those of the chosen day or week before, or else of the previous period.
    pub fn earlier(self, time: Binding<TimeSelection>) -> Signal<Option<Counts>> {
        Signal::derive(move || match time.value.get().comparison {
            Comparison::DayBefore | Comparison::WeekBefore => {
                self.before.data().flatten().map(|before| before.counts)
            }
            _ => self.summary.data().map(|summary| summary.previous),
        })
    }

    fn poll(self) {
        self.series.poll();
        self.compared.poll();
        self.before.poll();
        self.summary.poll();
        self.subjects.poll();
        self.denials.poll();
        self.events.poll();
    }
}

/// ` since 12:43`
pub fn since(at_ms: i64) -> String {
    let of_today = browser::now_ms() - at_ms < DAY_MS / 2;
    let day = if of_today { String::new() } else { day(at_ms, browser::zone_ms) + ", " };
    format!(" since {day}{}", time_of_day(at_ms, MINUTE_MS, browser::zone_ms))
}

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 86_400_000;

/// The checks over time, and how current they are.
#[component]
pub fn TrafficChart(traffic: Traffic, time: Binding<TimeSelection>) -> impl IntoView {
    let markers = Memo::new(move |_| {
        let events = traffic.events.data().map(|events| events.data).unwrap_or_default();
        events.iter().map(Marker::of).collect::<Vec<_>>()
    });
    let first_check_ms = traffic.first_check_ms(time);
    let outcomes = |series: &Series| ChartData::of(series, &OUTCOMES);
    let compared = Signal::derive(move || traffic.compared.data().flatten().as_ref().map(outcomes));
    show_latest_shaped(traffic.series, Skeleton::Chart, move |series| {
        let data = Signal::derive(move || {
            let data = series.with(outcomes);
            // The creation of a rule precedes its first check.
            let first_event = markers.with(|all| all.iter().map(|marker| marker.at_ms).min());
            match first_check_ms.get() {
                Some(at_ms) => data.since(first_event.unwrap_or(at_ms).min(at_ms)),
                None => data,
            }
        });
        view! {
            <TimeSeries label="Checks" data compared markers zoom=zoom_of(time) />
            <Freshness
                as_of=Signal::derive(move || series.with(|series| series.as_of))
                dropped=Signal::derive(move || series.with(|series| series.dropped))
            />
        }
    })
}

/// The most denied subjects.
#[component]
pub fn TopSubjects(traffic: Traffic) -> impl IntoView {
    let names_rules = traffic.scope.with_untracked(|scope| scope.rule.is_none());
    show_latest_shaped(traffic.subjects, Skeleton::Card, move |top| {
        // The log is more current than the counts of subjects.
        let counting = Signal::derive(move || {
            let denials = traffic.denials.data().map(|denials| denials.data).unwrap_or_default();
            let newest = denials.iter().find(|denial| !denial.subject.is_empty());
            let at = newest.map(|denial| denial.at.0);
            top.with(|top| at.is_some_and(|at| at > top.as_of.0 && at < top.to.0))
        });
        view! {
            <TopDenied title="Most denied subjects" top names_rules counting />
            <div class="actions"><ExportTop scope=traffic.scope by="subject" /></div>
        }
    })
}

/// The latest denials, by rule and subject.
#[component]
pub fn LatestDenials(traffic: Traffic) -> impl IntoView {
    let names_rules = traffic.scope.with_untracked(|scope| scope.rule.is_none());
    let actions = SubjectActions::new(Callback::new(move |()| traffic.denials.refetch()));
    let groups = show_latest_shaped(traffic.denials, Skeleton::Card, move |found| {
        let denials = Signal::derive(move || found.with(|found| found.data.clone()));
        view! { <DenialGroups denials names_rules actions /> }
    });
    view! {
        <SubjectQuestion actions />
        {groups}
        <div class="actions"><ExportDenials scope=traffic.scope /></div>
    }
}
