//! The legend: totals and shares. Its buttons show and hide layers.

use leptos::ev::MouseEvent;
use leptos::prelude::*;

use super::chart::Chart;
use crate::components::control_flow::Show;
use crate::model::chart::{ChartData, Layer};
use crate::model::number::compact;

#[component]
pub(super) fn Legend(chart: Chart) -> impl IntoView {
    let count = Memo::new(move |_| chart.data.with(|data| data.layers.len()));
    let layers = move || {
        (0..count.get()).map(|layer| view! { <LegendButton chart layer /> }).collect::<Vec<_>>()
    };
    let has_open = move || chart.data.with(ChartData::first_open_step).is_some();
    let has_outage =
        move || chart.markers.with(|markers| markers.iter().any(|one| one.until_ms.is_some()));
    let has_compared = move || chart.compared.with(Option::is_some);
    view! {
        <div class="legend note" role="group" aria-label="Legend">
            {layers}
            <Show when=has_compared><span class="swatch compared">"Compared period"</span></Show>
            <Show when=has_outage><span class="swatch outage">"Redis unavailable"</span></Show>
            <Show when=move || chart.gaps.with(|gaps| !gaps.is_empty())><span class="swatch gap">"No data"</span></Show>
            <Show when=has_open><span class="swatch open-step">"Not complete yet"</span></Show>
        </div>
    }
}

/// A click shows or hides the layer; with the Alt key it hides the others.
#[component]
fn LegendButton(chart: Chart, layer: usize) -> impl IntoView {
    let shown = Memo::new(move |_| chart.hidden.get().is_shown(layer));
    let count = move || chart.data.with_untracked(|data| data.layers.len());
    let of = move |of: fn(&Layer) -> &'static str| {
        chart.data.with(|data| data.layers.get(layer).map_or("", of))
    };
    let choose = move |event: MouseEvent| {
        chart.hidden.update(|hidden| {
            *hidden = if event.alt_key() {
                hidden.solo(layer, count())
            } else {
                hidden.toggle(layer, count())
            };
        });
    };
    let numbers = move || {
        chart.data.with(|data| {
            let (count, share) = data.total(data.layers.get(layer)?);
            Some(format!("{} · {share}", compact(count)))
        })
    };
    view! {
        <button
            type="button"
            class="legend-item"
            aria-pressed=move || shown.get().to_string()
            title="Click to show or hide; Alt and click to show only this"
            on:click=choose
        >
            <span class=move || format!("swatch {}", of(|layer| layer.class))>{move || of(|layer| layer.name)}</span>" "
            <span class="muted">{numbers}</span>
        </button>
    }
}
