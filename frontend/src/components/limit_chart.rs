//! A share against some limits, as a line whose points are buttons.

use leptos::prelude::*;

use crate::charts::geometry::Scale;
use crate::charts::timeline::{WIDTH, percent};
use crate::charts::value_axis::ValueAxis;
use crate::model::number::{compact, fine_share};

/// A limit with its share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlottedLimit {
    pub units: u64,
    /// The share in hundredths of a percent.
    pub share: u64,
    /// The limit and its share as text.
    pub label: String,
}

/// The chart; the point of the limit `current` is marked. Limits are equally far apart, because they span more than a
/// decade.
pub fn limit_chart(
    points: &[PlottedLimit],
    current: u64,
    choose: Callback<u64>,
) -> impl IntoView + use<> {
    let axis = ValueAxis::of(points.iter().map(|point| point.share).max().unwrap_or(0), HEIGHT);
    let last = u64::try_from(points.len().saturating_sub(1)).unwrap_or(1);
    let x = Scale { most: last, start: MARGIN, end: WIDTH - MARGIN };
    let place = |at: usize| x.place(u64::try_from(at).unwrap_or(0));
    let corner = |(at, point): (usize, &PlottedLimit)| {
        format!("{}{} {}", if at == 0 { 'M' } else { 'L' }, place(at), axis.place(point.share))
    };
    let line: String = points.iter().enumerate().map(corner).collect();
    let button = |(at, point): (usize, &PlottedLimit)| {
        let (units, label) = (point.units, point.label.clone());
        let class = if units == current { "curve-point current" } else { "curve-point" };
        let top = percent(axis.place(point.share) * (WIDTH / HEIGHT));
        view! {
            <button
                type="button"
                class=class
                style=("left", percent(place(at)))
                style=("top", top)
                title=label.clone()
                aria-label=format!("Try {label}")
                on:click=move |_| choose.run(units)
            ></button>
        }
    };
    let buttons: Vec<_> = points.iter().enumerate().map(button).collect();
    let tick = |(at, point): (usize, &PlottedLimit)| {
        view! { <span style=("left", percent(place(at)))>{compact(point.units)}</span> }
    };
    let ticks: Vec<_> = points.iter().enumerate().map(tick).collect();
    let shares = axis.ticks().into_iter().map(|tick| {
        let top = percent(axis.place(tick) * (WIDTH / HEIGHT));
        view! { <span style=("top", top)>{fine_share(tick, 10_000)}</span> }
    });
    view! {
        <div class="chart-body curve">
            <div class="chart-y muted" aria-hidden="true">{shares.collect::<Vec<_>>()}</div>
            <div class="chart-plot">
                <svg viewBox=format!("0 0 {WIDTH} {HEIGHT}") preserveAspectRatio="none" aria-hidden="true">
                    <path class="line denied" d=line />
                </svg>
                {buttons}
            </div>
            <div class="chart-x muted" aria-hidden="true">{ticks}</div>
        </div>
    }
}

const HEIGHT: u64 = 1_000;
const MARGIN: u64 = 300;
