//! The values of a chart as a table, rendered when it is opened.

use leptos::prelude::*;
use wasm_bindgen::JsCast as _;

use super::chart::Chart;
use crate::browser::local_time;
use crate::components::control_flow::Show;
use crate::model::chart::{ChartData, Layer};
use crate::model::number::grouped;

#[component]
pub(super) fn Values(chart: Chart) -> impl IntoView {
    let open = RwSignal::new(false);
    let toggled = move |event: leptos::ev::Event| {
        let node = event.target().and_then(|target| target.dyn_into::<web_sys::HtmlElement>().ok());
        open.set(node.is_some_and(|node| node.has_attribute("open")));
    };
    let rows = move || {
        chart
            .data
            .with(|data| (0..data.timeline.steps()).map(|step| row(data, step)).collect::<Vec<_>>())
    };
    let heads = move || {
        let head = |layer: &Layer| view! { <th scope="col" class="number">{layer.name}</th> };
        chart.data.with(|data| data.layers.iter().map(head).collect::<Vec<_>>())
    };
    let events = move || {
        let mut markers = chart.markers.get();
        markers.sort_by_key(|marker| marker.at_ms);
        let item = |at_ms: i64, text: String| view! { <li>{local_time(at_ms)}": "{text}</li> };
        let items: Vec<_> =
            markers.into_iter().map(|marker| item(marker.at_ms, marker.text)).collect();
        (!items.is_empty()).then(|| view! { <p><b>"Events"</b></p><ul class="note">{items}</ul> })
    };
    view! {
        <details class="chart-values" on:toggle=toggled>
            <summary class="note">"View as table"</summary>
            <Show when=move || open.get()>
                <div class="table-wrap chart-table" tabindex="0" role="region" aria-label="Values">
                    <table>
                        <thead><tr>
                            <th scope="col">"From"</th>
                            {heads}
                        </tr></thead>
                        <tbody>{rows}</tbody>
                    </table>
                </div>
                {events}
            </Show>
        </details>
    }
}

fn row(data: &ChartData, step: usize) -> impl IntoView + use<> {
    let (from_ms, _) = data.timeline.step_ms(step);
    let open = data.is_open(step).then_some(" (not complete yet)");
    let number = |layer: &Layer| {
        let count = layer.counts.get(step).copied().map(grouped);
        view! { <td class="number">{count}</td> }
    };
    let numbers: Vec<_> = data.layers.iter().map(number).collect();
    view! { <tr><th scope="row">{local_time(from_ms)}{open}</th>{numbers}</tr> }
}
