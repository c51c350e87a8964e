//! Allowed, denied and shadow-denied checks over time, readable by pointer, by keyboard and as a table. Dragging zooms
//! into a range.

use leptos::ev::{KeyboardEvent, PointerEvent};
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use weir_wire::stats::Series;

use crate::browser;
use crate::charts::stack::{HEIGHT, Stack, WIDTH, step_at, step_position, steps_to_label};
use crate::model::number::{compact, grouped};

const LABELS: usize = 6;

/// The chart; `on_zoom` receives a range in milliseconds since 1970.
#[component]
pub fn SeriesChart(
    label: &'static str,
    series: Signal<Series>,
    on_zoom: Callback<(i64, i64)>,
    /// Whether the scope contains rules in shadow mode.
    #[prop(default = true)]
    shadows: bool,
) -> impl IntoView {
    let at = RwSignal::new(None::<usize>);
    let stack = Memo::new(move |_| {
        series.with(|series| Stack::of(&[&series.allowed, &series.denied], &series.shadow_denied))
    });
    let top = move || compact(stack.with(|stack| stack.most));
    let middle = move || {
        let half = stack.with(|stack| stack.most / 2);
        (half > 0).then(|| compact(half))
    };
    view! {
        <figure class="chart" aria-label=label>
            <div class="chart-y muted" aria-hidden="true"><span>{top}</span><span>{middle}</span><span>"0"</span></div>
            <Plot label series stack at on_zoom />
            <div class="chart-x muted" aria-hidden="true">{move || series.with(time_labels)}</div>
            <figcaption>
                <p class="chart-read" role="status">{move || at.get().and_then(|at| series.with(|series| readout(series, at, shadows)))}</p>
                <p class="legend note">
                    <span class="allowed-mark">"Allowed"</span>
                    <span class="denied-mark">"Denied"</span>
                    {shadows.then(|| view! { <span class="would-deny-mark">"Would deny (shadow)"</span> })}
                    <Show when=move || series.with(|series| first_incomplete(series).is_some())>
                        <span class="incomplete-mark">"Not complete yet"</span>
                    </Show>
                </p>
            </figcaption>
            <Numbers series />
        </figure>
    }
}

/// The plot; `at` is the step under the pointer or the keyboard cursor.
#[component]
fn Plot(
    label: &'static str,
    series: Signal<Series>,
    stack: Memo<Stack>,
    at: RwSignal<Option<usize>>,
    on_zoom: Callback<(i64, i64)>,
) -> impl IntoView {
    let drag_start = RwSignal::new(None::<usize>);
    let steps = Memo::new(move |_| series.with(|series| series.allowed.len()));
    let zoom = move |a: usize, b: usize| {
        let (from, to) = (a.min(b), a.max(b));
        on_zoom.run(
            series.with_untracked(|series| (start_ms(series, from), start_ms(series, to + 1))),
        );
    };
    let moved = move |event: PointerEvent| at.set(step_of(&event, steps.get_untracked()));
    let pressed = move |event: PointerEvent| drag_start.set(step_of(&event, steps.get_untracked()));
    let released = move |event: PointerEvent| {
        let (from, to) = (drag_start.get_untracked(), step_of(&event, steps.get_untracked()));
        drag_start.set(None);
        if let (Some(from), Some(to)) = (from, to)
            && from != to
        {
            zoom(from, to);
        }
    };
    let left = move |_| {
        at.set(None);
        drag_start.set(None);
    };
    let keyed = move |event: KeyboardEvent| {
        let Some(last) = steps.get_untracked().checked_sub(1) else { return };
        let current = at.get_untracked();
        let there = match event.key().as_str() {
            "ArrowLeft" => current.map_or(last, |current| current.saturating_sub(1)),
            "ArrowRight" => current.map_or(0, |current| (current + 1).min(last)),
            "Home" => 0,
            "End" => last,
            "Enter" => return zoom(current.unwrap_or(last), current.unwrap_or(last)),
            _ => return,
        };
        event.prevent_default();
        at.set(Some(there));
    };
    let marked = move || {
        let (current, steps) = (at.get()?, steps.get());
        let from = drag_start.get().unwrap_or(current);
        let (left, right) =
            (step_position(from.min(current), steps), step_position(from.max(current) + 1, steps));
        Some(view! { <rect class="selection" x=left y="0" width=right - left height=HEIGHT /> })
    };
    let incomplete = move || {
        let from = series.with(first_incomplete)?;
        let left = step_position(from, steps.get());
        Some(view! { <rect class="incomplete" x=left y="0" width=WIDTH - left height=HEIGHT /> })
    };
    view! {
        <svg
            viewBox=format!("0 0 {WIDTH} {HEIGHT}")
            preserveAspectRatio="none"
            role="img"
            tabindex="0"
            aria-label=format!("{label}. Use the arrow keys to read values and Enter to zoom in.")
            on:pointermove=moved
            on:pointerdown=pressed
            on:pointerup=released
            on:pointerleave=left
            on:keydown=keyed
        >
            <line class="grid" x1="0" x2=WIDTH y1=HEIGHT / 2 y2=HEIGHT / 2 />
            <path class="allowed" d=move || stack.with(|stack| stack.areas[0].clone()) />
            <path class="denied" d=move || stack.with(|stack| stack.areas[1].clone()) />
            <path class="would-deny" d=move || stack.with(|stack| stack.line.clone()) />
            {incomplete}
            {marked}
        </svg>
    }
}

/// The same numbers as a table, rendered when it is opened.
#[component]
fn Numbers(series: Signal<Series>) -> impl IntoView {
    let open = RwSignal::new(false);
    let toggled = move |event: leptos::ev::Event| {
        let node = event.target().and_then(|target| target.dyn_into::<web_sys::HtmlElement>().ok());
        open.set(node.is_some_and(|node| node.has_attribute("open")));
    };
    let row = |series: &Series, at: usize| {
        let number = |of: &[u64]| of.get(at).copied().map(grouped);
        view! {
            <tr>
                <th scope="row">{browser::local_time(start_ms(series, at))}{is_incomplete(series, at).then_some(" (not complete yet)")}</th>
                <td class="number">{number(&series.allowed)}</td>
                <td class="number">{number(&series.denied)}</td>
                <td class="number">{number(&series.shadow_denied)}</td>
            </tr>
        }
    };
    let rows = move || {
        series
            .with(|series| (0..series.allowed.len()).map(|at| row(series, at)).collect::<Vec<_>>())
    };
    view! {
        <details on:toggle=toggled>
            <summary class="note">"View as table"</summary>
            <Show when=move || open.get()>
                <div class="table-wrap chart-table" tabindex="0" role="region" aria-label="Values">
                    <table>
                        <thead><tr>
                            <th scope="col">"From"</th><th scope="col" class="number">"Allowed"</th>
                            <th scope="col" class="number">"Denied"</th><th scope="col" class="number">"Shadow"</th>
                        </tr></thead>
                        <tbody>{rows}</tbody>
                    </table>
                </div>
            </Show>
        </details>
    }
}

/// The start of a step. The step after the last is the end of the series.
fn start_ms(series: &Series, step: usize) -> i64 {
    let whole = i64::try_from(step).expect("there are few steps");
    let even = series.start.0.as_millis() + whole * i64::from(series.step_s) * 1000;
    let starts = series.starts.as_ref();
    starts.and_then(|starts| starts.get(step)).map_or(even, |start| start.0.as_millis())
}

/// Whether checks of the step can still be added: it ends after the time up to which everything is counted.
fn is_incomplete(series: &Series, step: usize) -> bool {
    start_ms(series, step + 1) > series.as_of.0.as_millis()
}

fn first_incomplete(series: &Series) -> Option<usize> {
    (0..series.allowed.len()).find(|step| is_incomplete(series, *step))
}

fn step_of(event: &PointerEvent, steps: usize) -> Option<usize> {
    let plot = event.current_target()?.dyn_into::<web_sys::Element>().ok()?;
    let place = plot.get_bounding_client_rect();
    step_at((f64::from(event.client_x()) - place.left()) / place.width().max(1.0), steps)
}

fn time_labels(series: &Series) -> Vec<impl IntoView + use<>> {
    let steps = series.allowed.len();
    let label = |step: usize| {
        let left = format!("{}%", step_position(step, steps) * 100 / WIDTH);
        let text = browser::axis_label(start_ms(series, step), series.step_s);
        view! { <span style=("left", left)>{text}</span> }
    };
    steps_to_label(steps, LABELS).into_iter().map(label).collect()
}

fn readout(series: &Series, at: usize, shadows: bool) -> Option<String> {
    let number = |of: &[u64]| of.get(at).copied().map(grouped);
    let when = browser::local_time(start_ms(series, at));
    let (allowed, denied) = (number(&series.allowed)?, number(&series.denied)?);
    let shadow = number(&series.shadow_denied).filter(|_| shadows);
    let shadow = shadow.map(|count| format!(", {count} would be denied")).unwrap_or_default();
    let incomplete = if is_incomplete(series, at) { " (not complete yet)" } else { "" };
    Some(format!("{when}: {allowed} allowed, {denied} denied{shadow}{incomplete}"))
}
