//! Allowed, denied and shadow-denied checks over time: to be read by pointer, by keyboard and as a table; a stretch that
//! is dragged over can be looked at closer.

use leptos::ev::{KeyboardEvent, PointerEvent};
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use weir_wire::stats::Series;

use crate::browser;
use crate::charts::stack::{HEIGHT, Stack, WIDTH, along, labelled, step_at};
use crate::model::number::{compact, grouped};

const LABELS: usize = 6;

/// The chart; `on_zoom` gets a stretch in milliseconds since 1970.
#[component]
pub fn SeriesChart(
    label: &'static str,
    series: Signal<Series>,
    on_zoom: Callback<(i64, i64)>,
    /// Whether rules that only watch are part of it.
    #[prop(default = true)]
    shadows: bool,
) -> impl IntoView {
    let at = RwSignal::new(None::<usize>);
    let stack = Memo::new(move |_| {
        series.with(|it| Stack::of(&[&it.allowed, &it.denied], &it.shadow_denied))
    });
    let top = move || compact(stack.with(|stack| stack.most));
    let middle = move || {
        let half = stack.with(|stack| stack.most / 2);
        (half > 0).then(|| compact(half))
    };
    view! {
        <figure class="chart" aria-label=label>
            <div class="chart-y quiet" aria-hidden="true"><span>{top}</span><span>{middle}</span><span>"0"</span></div>
            <Plot label series stack at on_zoom />
            <div class="chart-x quiet" aria-hidden="true">{move || series.with(moments)}</div>
            <figcaption>
                <p class="chart-read" role="status">{move || at.get().and_then(|at| series.with(|it| read(it, at, shadows)))}</p>
                <p class="legend note">
                    <span class="allowed-mark">"allowed"</span>
                    <span class="denied-mark">"denied"</span>
                    {shadows.then(|| view! { <span class="shadowed-mark">"shadow: would have been denied"</span> })}
                </p>
            </figcaption>
            <Numbers series />
        </figure>
    }
}

/// The drawing, which knows the step under the pointer or the keyboard: `at`.
#[component]
fn Plot(
    label: &'static str,
    series: Signal<Series>,
    stack: Memo<Stack>,
    at: RwSignal<Option<usize>>,
    on_zoom: Callback<(i64, i64)>,
) -> impl IntoView {
    let begun = RwSignal::new(None::<usize>);
    let steps = Memo::new(move |_| series.with(|series| series.allowed.len()));
    let zoom = move |a: usize, b: usize| {
        let (from, to) = (a.min(b), a.max(b));
        on_zoom.run(series.with_untracked(|it| (start_ms(it, from), start_ms(it, to + 1))));
    };
    let moved = move |event: PointerEvent| at.set(step_of(&event, steps.get_untracked()));
    let pressed = move |event: PointerEvent| begun.set(step_of(&event, steps.get_untracked()));
    let released = move |event: PointerEvent| {
        let (from, to) = (begun.get_untracked(), step_of(&event, steps.get_untracked()));
        begun.set(None);
        if let (Some(from), Some(to)) = (from, to)
            && from != to
        {
            zoom(from, to);
        }
    };
    let left = move |_| {
        at.set(None);
        begun.set(None);
    };
    let keyed = move |event: KeyboardEvent| {
        let Some(last) = steps.get_untracked().checked_sub(1) else { return };
        let here = at.get_untracked();
        let there = match event.key().as_str() {
            "ArrowLeft" => here.map_or(last, |here| here.saturating_sub(1)),
            "ArrowRight" => here.map_or(0, |here| (here + 1).min(last)),
            "Home" => 0,
            "End" => last,
            "Enter" => return zoom(here.unwrap_or(last), here.unwrap_or(last)),
            _ => return,
        };
        event.prevent_default();
        at.set(Some(there));
    };
    let marked = move || {
        let (here, steps) = (at.get()?, steps.get());
        let from = begun.get().unwrap_or(here);
        let (left, right) = (along(from.min(here), steps), along(from.max(here) + 1, steps));
        Some(view! { <rect class="marked" x=left y="0" width=right - left height=HEIGHT /> })
    };
    view! {
        <svg
            viewBox=format!("0 0 {WIDTH} {HEIGHT}")
            preserveAspectRatio="none"
            role="img"
            tabindex="0"
            aria-label=format!("{label}: arrow keys read single steps, Enter looks closer")
            on:pointermove=moved
            on:pointerdown=pressed
            on:pointerup=released
            on:pointerleave=left
            on:keydown=keyed
        >
            <line class="grid" x1="0" x2=WIDTH y1=HEIGHT / 2 y2=HEIGHT / 2 />
            <path class="allowed" d=move || stack.with(|it| it.areas[0].clone()) />
            <path class="denied" d=move || stack.with(|it| it.areas[1].clone()) />
            <path class="shadowed" d=move || stack.with(|it| it.line.clone()) />
            {marked}
        </svg>
    }
}

/// The same numbers as a table, made once somebody opens it.
#[component]
fn Numbers(series: Signal<Series>) -> impl IntoView {
    let open = RwSignal::new(false);
    let toggled = move |event: leptos::ev::Event| {
        let node = event.target().and_then(|it| it.dyn_into::<web_sys::HtmlElement>().ok());
        open.set(node.is_some_and(|node| node.has_attribute("open")));
    };
    let row = |series: &Series, at: usize| {
        let number = |of: &[u64]| of.get(at).copied().map(grouped);
        view! {
            <tr>
                <th scope="row">{browser::local_time(start_ms(series, at))}</th>
                <td class="number">{number(&series.allowed)}</td>
                <td class="number">{number(&series.denied)}</td>
                <td class="number">{number(&series.shadow_denied)}</td>
            </tr>
        }
    };
    let rows =
        move || series.with(|it| (0..it.allowed.len()).map(|at| row(it, at)).collect::<Vec<_>>());
    view! {
        <details on:toggle=toggled>
            <summary class="note">"The same as a table"</summary>
            <Show when=move || open.get()>
                <div class="table-wrap chart-table" tabindex="0" role="region" aria-label="Numbers">
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

/// When a step begins; the one after the last is where it ends.
fn start_ms(series: &Series, step: usize) -> i64 {
    let whole = i64::try_from(step).expect("there are few steps");
    let even = series.start.0.as_millis() + whole * i64::from(series.step_s) * 1000;
    let starts = series.starts.as_ref();
    starts.and_then(|starts| starts.get(step)).map_or(even, |start| start.0.as_millis())
}

fn step_of(event: &PointerEvent, steps: usize) -> Option<usize> {
    let plot = event.current_target()?.dyn_into::<web_sys::Element>().ok()?;
    let place = plot.get_bounding_client_rect();
    step_at((f64::from(event.client_x()) - place.left()) / place.width().max(1.0), steps)
}

fn moments(series: &Series) -> Vec<impl IntoView + use<>> {
    let steps = series.allowed.len();
    let label = |step: usize| {
        let left = format!("{}%", along(step, steps) * 100 / WIDTH);
        let text = browser::moment(start_ms(series, step), series.step_s);
        view! { <span style=("left", left)>{text}</span> }
    };
    labelled(steps, LABELS).into_iter().map(label).collect()
}

fn read(series: &Series, at: usize, shadows: bool) -> Option<String> {
    let number = |of: &[u64]| of.get(at).copied().map(grouped);
    let when = browser::local_time(start_ms(series, at));
    let (allowed, denied) = (number(&series.allowed)?, number(&series.denied)?);
    let shadow = number(&series.shadow_denied).filter(|_| shadows);
    let shadow = shadow.map(|it| format!(", {it} in shadow")).unwrap_or_default();
    Some(format!("{when}: {allowed} allowed, {denied} denied{shadow}"))
}
