//! Checks over time: allowed, denied and would-be-denied ones, with a crosshair that all charts of a page share, events,
//! outages and the same period before. Readable by pointer, by keyboard and as a table.

mod chart;
mod legend;
mod overlay;
mod plot;
mod tooltip;
mod values;

use leptos::prelude::*;

use crate::browser::zone_ms;
use crate::model::chart::{ChartData, Hidden};
use crate::model::marker::Marker;
use chart::{Chart, zoom_out};
pub use chart::{Crosshair, Zoom};
use legend::Legend;
use overlay::{Flags, Overlay, TimeAxis, ValueTicks};
use plot::Plot;
use tooltip::Tooltip;
use values::Values;

/// The chart.
#[component]
pub fn TimeSeries(
    /// The counted things.
    label: &'static str,
    data: Signal<ChartData>,
    /// The same layers and number of steps of another time.
    #[prop(optional, into)]
    compared: Signal<Option<ChartData>>,
    #[prop(optional, into)] markers: Signal<Vec<Marker>>,
    /// Without it the range is fixed.
    #[prop(optional, into)]
    zoom: Option<Zoom>,
    #[prop(optional, into)] gaps: Signal<Vec<(i64, i64)>>,
) -> impl IntoView {
    // Derived signals would be computed for each reader.
    let (data, compared) = (Memo::new(move |_| data.get()), Memo::new(move |_| compared.get()));
    let hidden = RwSignal::new(Hidden::default());
    let chart = Chart {
        label,
        data,
        compared,
        markers,
        hidden,
        stack: Memo::new(move |_| {
            compared.with(|compared| data.with(|data| data.stack(compared.as_ref(), hidden.get())))
        }),
        crosshair: Crosshair::shared(),
        zoom,
        gaps,
    };
    let sentence = move || {
        let step = chart.step()?;
        let when = chart.when(step);
        data.with(|data| data.readout(step, &when))
    };
    view! {
        <figure class="chart" aria-label=label>
            <figcaption class="chart-head">
                <div>
                    <p class="chart-title">{label}" "{move || data.with(ChartData::unit)}</p>
                    <p class="note">{move || data.with(|data| data.extent(zone_ms))}</p>
                </div>
                <ZoomButtons chart />
            </figcaption>
            <div class="chart-body">
                <ValueTicks chart />
                <div class="chart-plot">
                    <Plot chart />
                    <Overlay chart />
                    <Flags chart />
                    <Tooltip chart />
                </div>
                <TimeAxis chart />
            </div>
            <p class="hidden" role="status">{sentence}</p>
            <Legend chart />
            <Values chart />
        </figure>
    }
}

/// Buttons to show more time than the chart does, and to return to the chosen range.
#[component]
fn ZoomButtons(chart: Chart) -> impl IntoView {
    chart.zoom.map(|zoom| {
        let buttons = move || {
            zoom.is_zoomed.get().then(|| {
                let reset = move |_| zoom.reset.run(());
                view! {
                    <button type="button" class="button small" on:click=reset>"Reset zoom"</button>
                    <button type="button" class="button small" on:click=move |_| zoom_out(chart)>"Zoom out"</button>
                }
            })
        };
        view! { <div class="chart-zoom">{buttons}</div> }
    })
}
