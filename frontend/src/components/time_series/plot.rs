//! The paths of a chart, and its pointer and keyboard.

use leptos::ev::{KeyboardEvent, PointerEvent};
use leptos::prelude::*;

use super::chart::{Chart, pan, zoom_out};
use crate::browser::pointer_position;
use crate::charts::stack::HEIGHT;
use crate::charts::timeline::WIDTH;
use crate::model::chart::{ChartData, Layer};

#[component]
pub(super) fn Plot(chart: Chart) -> impl IntoView {
    let drag_start = RwSignal::new(None::<i64>);
    let time_at = move |event: &PointerEvent| {
        let place = pointer_position(event, WIDTH)?;
        Some(chart.data.with_untracked(|data| data.timeline.at(place)))
    };
    let cursor = chart.crosshair.0;
    let moved = move |event: PointerEvent| cursor.set(time_at(&event));
    let pressed = move |event: PointerEvent| drag_start.set(time_at(&event));
    let released = move |event: PointerEvent| {
        let range = drag_start.get_untracked().zip(time_at(&event));
        drag_start.set(None);
        if let Some((from_ms, to_ms)) = range {
            zoom_to(chart, from_ms, to_ms);
        }
    };
    let left = move |_| {
        cursor.set(None);
        drag_start.set(None);
    };
    let selection = move || {
        let (from_ms, to_ms) = (drag_start.get()?, cursor.get()?);
        let (left, right) = chart.data.with(|data| {
            let [a, b] = [from_ms, to_ms].map(|at_ms| data.timeline.place(at_ms));
            (a.min(b), a.max(b))
        });
        Some(view! { <rect class="selection" x=left y="0" width=right - left height=HEIGHT /> })
    };
    let zooming = chart.zoom.map_or("", |_| {
        ", Shift and the arrow keys to move the range, Enter to zoom in, and Backspace to zoom out"
    });
    let label = format!("{}. Use the arrow keys to read values{zooming}.", chart.label);
    view! {
        <svg
            viewBox=format!("0 0 {WIDTH} {HEIGHT}")
            preserveAspectRatio="none"
            role="img"
            tabindex="0"
            aria-label=label
            on:pointermove=moved
            on:pointerdown=pressed
            on:pointerup=released
            on:pointerleave=left
            on:dblclick=move |_| zoom_out(chart)
            on:keydown=move |event| key(chart, &event)
        >
            {move || paths(chart)}
            {selection}
        </svg>
    }
}

/// The areas, their edges and the lines, in this order.
fn paths(chart: Chart) -> Vec<impl IntoView + use<>> {
    let classes = |lines: bool| {
        let of_kind = |layer: &&Layer| layer.is_line == lines;
        chart.data.with(|data| {
            data.layers.iter().filter(of_kind).map(|layer| layer.class).collect::<Vec<_>>()
        })
    };
    let (areas, mut lines) = (classes(false), classes(true));
    lines.push("compared");
    chart.stack.with(|stack| {
        let path = |kind: &str, class: &str, d: &String| {
            view! { <path class=format!("{kind} {class}") d=d.clone() /> }
        };
        let draw = |kind: &'static str, classes: &[&str], paths: &[String]| {
            classes.iter().zip(paths).map(|(class, d)| path(kind, class, d)).collect::<Vec<_>>()
        };
        let mut all = draw("area", &areas, &stack.areas);
        all.extend(draw("edge", &areas, &stack.edges));
        all.extend(draw("line", &lines, &stack.lines));
        all
    })
}

/// Zooms to the steps between two times, unless both are in one step.
fn zoom_to(chart: Chart, from_ms: i64, to_ms: i64) {
    let steps = chart.data.with_untracked(|ChartData { timeline, .. }| {
        let from = timeline.step_at(from_ms.min(to_ms))?;
        let to = timeline.step_at(from_ms.max(to_ms))?;
        (from != to).then(|| (timeline.step_ms(from).0, timeline.step_ms(to).1))
    });
    if let Some(range) = steps {
        chart.zoom_to(range);
    }
}

fn key(chart: Chart, event: &KeyboardEvent) {
    let key = event.key();
    match (key.as_str(), event.shift_key()) {
        ("ArrowLeft" | "ArrowRight", true) => pan(chart, key == "ArrowRight"),
        ("Backspace", _) => zoom_out(chart),
        ("Escape", _) => chart.crosshair.0.set(None),
        ("Enter", _) => {
            let Some(step) = chart.step() else { return };
            chart.zoom_to(chart.data.with_untracked(|data| data.timeline.step_ms(step)));
        }
        ("ArrowLeft" | "ArrowRight" | "Home" | "End", _) => {
            let last = chart.data.with_untracked(|data| data.timeline.steps() - 1);
            let now = chart.step();
            let next = match key.as_str() {
                "ArrowLeft" => now.map_or(last, |now| now.saturating_sub(1)),
                "ArrowRight" => now.map_or(0, |now| (now + 1).min(last)),
                "Home" => 0,
                _ => last,
            };
            let at_ms = chart.data.with_untracked(|data| data.timeline.step_ms(next).0);
            chart.crosshair.0.set(Some(at_ms));
        }
        _ => return,
    }
    event.prevent_default();
}
