//! The values under the crosshair, beside it.

use leptos::prelude::*;

use super::chart::Chart;
use crate::charts::timeline::{WIDTH, percent};
use crate::model::chart::{ChartData, Layer};
use crate::model::marker::Marker;
use crate::model::number::{grouped, share};

#[component]
pub(super) fn Tooltip(chart: Chart) -> impl IntoView {
    let shown = move || {
        let step = chart.step()?;
        let (from_ms, to_ms) = chart.data.with(|data| data.timeline.step_ms(step));
        let place = chart.data.with(|data| data.timeline.place(from_ms.midpoint(to_ms)));
        let is_right = place > WIDTH / 2;
        let side = if is_right { "right" } else { "left" };
        let edge = percent(if is_right { WIDTH - place } else { place });
        Some(view! {
            <div class="chart-tip" class:tip-left=is_right aria-hidden="true" style=(side, edge)>
                <p class="chart-tip-time">{chart.when(step)}</p>
                {rows(chart, step)}
                {notes(chart, step)}
                {events(chart, from_ms, to_ms)}
            </div>
        })
    };
    view! { {shown} }
}

/// A line for each layer: its count, its share of the stack, and the count of the compared time.
fn rows(chart: Chart, step: usize) -> Vec<impl IntoView> {
    let hidden = chart.hidden.get();
    let count = |layer: &Layer| layer.counts.get(step).copied();
    let before = |at: usize| {
        let of = |compared: &ChartData| count(compared.layers.get(at)?);
        let before = chart.compared.with(|compared| compared.as_ref().and_then(of));
        before.map(|before| view! { <span class="muted">"was "{grouped(before)}</span> })
    };
    chart.data.with(|data| {
        let shown = data.layers.iter().enumerate().filter(|(at, _)| hidden.is_shown(*at));
        let row = |(at, layer): (usize, &Layer)| {
            let now = count(layer).unwrap_or(0);
            view! {
                <p class="chart-tip-row">
                    <span class=format!("swatch {}", layer.class)>{layer.name}</span>
                    <b>{grouped(now)}</b>
                    <span class="muted">{share(now, data.whole(step))}</span>
                    {before(at)}
                </p>
            }
        };
        shown.map(row).collect()
    })
}

/// Whether the step can grow, and whether Redis was away.
fn notes(chart: Chart, step: usize) -> Vec<impl IntoView> {
    let open = chart.data.with(|data| data.is_open(step));
    let open = open.then(|| "Not complete yet".to_owned());
    let degraded = chart.data.with(|data| data.degraded.get(step).copied().unwrap_or(0));
    let degraded = (degraded > 0).then(|| format!("{} without Redis", grouped(degraded)));
    open.into_iter().chain(degraded).map(|note| view! { <p class="muted">{note}</p> }).collect()
}

/// The events of the step.
fn events(chart: Chart, from_ms: i64, to_ms: i64) -> Vec<impl IntoView> {
    let in_step = |marker: &&Marker| (from_ms..to_ms).contains(&marker.at_ms);
    let text = |marker: &Marker| view! { <p class="chart-tip-event">{marker.text.clone()}</p> };
    chart.markers.with(|markers| markers.iter().filter(in_step).take(4).map(text).collect())
}
