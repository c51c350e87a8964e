//! Marks over the paths of a chart: ticks, the open step, outages, events and the crosshair. Drawn as HTML, because
//! the paths are stretched to the width of the page.

use leptos::prelude::*;

use super::chart::Chart;
use crate::browser::{local_time, zone_ms};
use crate::charts::stack::HEIGHT;
use crate::charts::time_ticks::{TimeTick, time_ticks};
use crate::charts::timeline::{WIDTH, percent};
use crate::model::chart::ChartData;
use crate::model::marker::{Marker, MarkerGroup, MarkerKind, grouped};
use crate::model::number::compact;

/// The most labelled times.
const TIMES_MAX: i64 = 7;
/// The least distance between two flags.
const FLAGS_APART: u64 = 220;

/// The labels of the vertical axis.
#[component]
pub(super) fn ValueTicks(chart: Chart) -> impl IntoView {
    let ticks = move || {
        let axis = chart.stack.with(|stack| stack.axis);
        let tick = |value: u64| {
            view! { <span style=("top", from_top(axis.place(value)))>{compact(value)}</span> }
        };
        axis.ticks().into_iter().map(tick).collect::<Vec<_>>()
    };
    view! { <div class="chart-y muted" aria-hidden="true">{ticks}</div> }
}

/// The labels of the time axis.
#[component]
pub(super) fn TimeAxis(chart: Chart) -> impl IntoView {
    let labels = move || {
        let tick = |(left, tick): (String, TimeTick)| {
            view! { <span class:day=tick.is_day style=("left", left)>{tick.label}</span> }
        };
        placed_ticks(chart).into_iter().map(tick).collect::<Vec<_>>()
    };
    view! { <div class="chart-x muted" aria-hidden="true">{labels}</div> }
}

/// Grid lines, bands and the crosshair.
#[component]
pub(super) fn Overlay(chart: Chart) -> impl IntoView {
    let values = move || {
        let axis = chart.stack.with(|stack| stack.axis);
        let line = |value: u64| view! { <i class="grid-y" style=("top", from_top(axis.place(value)))></i> };
        axis.ticks().into_iter().skip(1).map(line).collect::<Vec<_>>()
    };
    let times = move || {
        let line = |(left, tick): (String, TimeTick)| {
            view! { <i class="grid-x" class:day=tick.is_day style=("left", left)></i> }
        };
        placed_ticks(chart).into_iter().map(line).collect::<Vec<_>>()
    };
    let open = move || {
        let step = chart.data.with(ChartData::first_open_step)?;
        let (from_ms, to_ms) =
            chart.data.with(|data| (data.timeline.step_ms(step).0, data.timeline.end_ms()));
        Some(band(chart, "open-step", from_ms, to_ms, None))
    };
    let away = move || {
        let outage = |outage: &Marker| {
            let text = Some(outage.text.clone());
            Some(band(chart, "outage", outage.at_ms, outage.until_ms?, text))
        };
        chart.markers.with(|markers| markers.iter().filter_map(outage).collect::<Vec<_>>())
    };
    let silent = move || {
        let title = || Some("No data".to_owned());
        let gap = |(from_ms, to_ms)| band(chart, "gap", from_ms, to_ms, title());
        chart.gaps.get().into_iter().map(gap).collect::<Vec<_>>()
    };
    let crosshair = move || {
        let (from_ms, to_ms) =
            chart.data.with(|data| chart.step().map(|step| data.timeline.step_ms(step)))?;
        Some(band(chart, "crosshair", from_ms, to_ms, None))
    };
    view! { <div class="chart-overlay" aria-hidden="true">{values}{times}{silent}{open}{away}{crosshair}</div> }
}

/// The events, each as a button that shows its text, with a lane for each kind; close ones of a kind share a flag.
#[component]
pub(super) fn Flags(chart: Chart) -> impl IntoView {
    let groups = move || {
        let place = |at_ms: i64| {
            chart.data.with(|ChartData { timeline, .. }| {
                timeline.step_at(at_ms).map(|_| timeline.place(at_ms))
            })
        };
        grouped(&chart.markers.get(), FLAGS_APART, place)
    };
    let flag = move |group: MarkerGroup| {
        let class = match group.kind {
            MarkerKind::Change => "flag",
            MarkerKind::Alert => "flag flag-alert",
            MarkerKind::Outage => "flag flag-outage",
        };
        let at_ms = group.markers[0].at_ms;
        let label = format!("{}, {}", group.label(), local_time(at_ms));
        let text = group.markers.len();
        view! {
            <button
                type="button"
                class=class
                style=("left", percent(group.place))
                title=label.clone()
                aria-label=label
                on:click=move |_| chart.crosshair.0.set(Some(at_ms))
            >
                {(text > 1).then_some(text)}
            </button>
        }
    };
    view! { <div class="chart-flags">{move || groups().into_iter().map(flag).collect::<Vec<_>>()}</div> }
}

fn placed_ticks(chart: Chart) -> Vec<(String, TimeTick)> {
    chart.data.with(|ChartData { timeline, .. }| {
        let ticks = time_ticks(timeline.start_ms(), timeline.end_ms(), TIMES_MAX, zone_ms);
        ticks.into_iter().map(|tick| (percent(timeline.place(tick.at_ms)), tick)).collect()
    })
}

fn band(
    chart: Chart,
    class: &'static str,
    from_ms: i64,
    to_ms: i64,
    title: Option<String>,
) -> impl IntoView {
    let (left, right) = chart
        .data
        .with(|ChartData { timeline, .. }| (timeline.place(from_ms), timeline.place(to_ms)));
    let width = percent(right.saturating_sub(left).clamp(1, WIDTH));
    view! { <i class=class title=title style=("left", percent(left)) style=("width", width)></i> }
}

/// A vertical position as a CSS percentage.
fn from_top(place: u64) -> String {
    percent(place * (WIDTH / HEIGHT))
}
