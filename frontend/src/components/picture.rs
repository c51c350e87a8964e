//! A picture of how a rule treats a traffic pattern, and the same numbers as a table.

use leptos::prelude::*;
use weir_domain::rule::Rule;

use crate::browser::pointer_position;
use crate::charts::geometry::{Scale, area};
use crate::components::control_flow::Show;
use crate::components::field::{Binding, Choice};
use crate::model::duration;
use crate::model::number::grouped;
use crate::model::picture::{Dot, Pattern, Picture, SLICES, Slice, WINDOWS};

/// The picture of `rule`, which is `None` while the form is invalid or the rule has no limits.
#[component]
pub fn RulePicture(#[prop(into)] rule: Signal<Option<SimulatedRule>>) -> impl IntoView {
    let playing = RwSignal::new(true);
    let play = move |_| playing.update(|playing| *playing = !*playing);
    let (pattern, by_hand) = (RwSignal::new(Pattern::Boundary), RwSignal::new(Vec::<u64>::new()));
    let picture = Memo::new(move |_| {
        rule.with(|rule| {
            let SimulatedRule(rule) = rule.as_ref()?;
            Picture::of(rule, pattern.get(), &by_hand.get())
        })
    });
    let patterns = vec![
        (Pattern::Boundary, "Burst across a reset".to_owned()),
        (Pattern::Burst, "Two bursts".to_owned()),
        (Pattern::Steady, "Steady, above the limit".to_owned()),
        (Pattern::ByHand, "Custom".to_owned()),
    ];
    let chosen =
        Binding { value: pattern.into(), set: Callback::new(move |chosen| pattern.set(chosen)) };
    let summary = move || {
        picture.with(|picture| match picture {
            Some(picture) => picture.summary(),
            None => "The preview appears when the limits are valid.".to_owned(),
        })
    };
    let worst = move || picture.with(|picture| picture.as_ref().map(Picture::worst_case));
    let put = Callback::new(move |at: u64| {
        if pattern.get_untracked() != Pattern::ByHand {
            by_hand.set(Vec::new());
            pattern.set(Pattern::ByHand);
        }
        by_hand.update(|places| toggle(places, at));
    });
    view! {
        <section class="picture" aria-labelledby="picture-heading">
            <div class="card-head">
                <h2 id="picture-heading">"Preview"</h2>
                <button type="button" class="button small play" on:click=play>
                    {move || if playing.get() { "Pause" } else { "Play" }}
                </button>
            </div>
            <Choice label="Traffic pattern of one subject" value=chosen options=patterns />
            <Show when=move || pattern.get() == Pattern::ByHand><PlaceCheckboxes by_hand /></Show>
            {move || picture.get().map(|picture| drawing(&picture, put, playing))}
            <p class="note" aria-live="polite">{summary}</p>
            <p><span class="badge worst-case">{worst}</span></p>
            {move || picture.get().map(|picture| table(&picture))}
        </section>
    }
}

/// A valid rule, compared by its draft.
#[derive(Debug, Clone)]
pub struct SimulatedRule(pub Rule);

impl PartialEq for SimulatedRule {
    fn eq(&self, other: &Self) -> bool {
        self.0.draft() == other.0.draft()
    }
}

/// Checkboxes that place requests by hand.
#[component]
fn PlaceCheckboxes(by_hand: RwSignal<Vec<u64>>) -> impl IntoView {
    let place = move |at: u64| {
        let on = move || by_hand.with(|places| places.contains(&at));
        view! {
            <input
                type="checkbox"
                aria-label=format!("Requests in slot {} of {SLICES}", at + 1)
                prop:checked=on
                on:change=move |_| by_hand.update(|places| toggle(places, at))
            />
        }
    };
    view! {
        <fieldset class="slots">
            <legend class="note">"Select when requests arrive, or click in the chart"</legend>
            <div>{(0..SLICES).map(place).collect::<Vec<_>>()}</div>
        </fieldset>
    }
}

/// Adds requests at a place, or removes them.
fn toggle(places: &mut Vec<u64>, at: u64) {
    match places.iter().position(|place| *place == at) {
        Some(found) => {
            places.remove(found);
        }
        None => places.push(at),
    }
}

fn drawing(
    picture: &Picture,
    put: Callback<u64>,
    playing: RwSignal<bool>,
) -> impl IntoView + use<> {
    let x = Scale { most: picture.span_us(), start: MARGIN, end: WIDTH - MARGIN };
    let y = Scale { most: picture.limit, start: GROUND, end: CEILING };
    let path = area(x, y, &picture.level);
    let tick = |dot: &Dot| {
        let (class, top) =
            if dot.admitted { ("allowed", ADMITTED_ROW) } else { ("denied", DENIED_ROW) };
        let along = x.place(dot.at_us);
        view! { <line class=class x1=along x2=along y1=top y2=top + TICK /> }
    };
    let ticks: Vec<_> = picture.dots.iter().map(tick).collect();
    let boundary = |at: u64| {
        let along = x.place(picture.window_ms * 1000 * at);
        let class = if at == WINDOWS { "end" } else { "" };
        let label =
            if at == 0 { "0".to_owned() } else { duration::short_readable(picture.window_ms * at) };
        view! {
            <line class="boundary" x1=along x2=along y1=ADMITTED_ROW y2=GROUND />
            <text class=class x=along y=HEIGHT - 6>{label}</text>
        }
    };
    let boundaries: Vec<_> = (0..=WINDOWS).map(boundary).collect();
    // For pointers only; the checkboxes are the keyboard's way.
    let click = move |event: leptos::ev::MouseEvent| {
        let Some(along) = pointer_position(&event, WIDTH) else { return };
        put.run((along.saturating_sub(MARGIN) * SLICES / (WIDTH - 2 * MARGIN)).min(SLICES - 1));
    };
    let class_line = |(class, level): &(String, u64)| {
        let top = y.place(*level);
        let text = format!("{class}: up to {}", grouped(*level));
        view! {
            <line class="full" x1=MARGIN x2=WIDTH - MARGIN y1=top y2=top />
            <text class="end" x=WIDTH - MARGIN - 4 y=top.saturating_sub(4)>{text}</text>
        }
    };
    let classes: Vec<_> = picture.classes.iter().map(class_line).collect();
    let full = format!("Limit: {}", grouped(picture.limit));
    let label =
        format!("Allowed and denied requests, and the level of the counter. {}", picture.summary());
    let class = move || if playing.get() { "playing" } else { "" };
    view! {
        <svg viewBox=format!("0 0 {WIDTH} {HEIGHT}") class=class role="img" aria-label=label on:click=click>
            <path class="level" d=path />
            {boundaries}
            <line class="full" x1=MARGIN x2=WIDTH - MARGIN y1=CEILING y2=CEILING />
            <text x=MARGIN + 4 y=CEILING - 6>{full}</text>
            {classes}
            {ticks}
            <g class="playhead">
                <rect x=MARGIN y=ADMITTED_ROW width=WIDTH - 2 * MARGIN height=GROUND - ADMITTED_ROW />
                <line x1=MARGIN x2=MARGIN y1=ADMITTED_ROW y2=GROUND />
            </g>
        </svg>
        <p class="legend note">
            <span class="allowed-mark">"allowed"</span>
            <span class="denied-mark">"denied"</span>
            <span class="level-mark">"counter"</span>
        </p>
    }
}

fn table(picture: &Picture) -> impl IntoView + use<> {
    let row = |slice: Slice| {
        view! {
            <tr>
                <th scope="row">{duration::about(slice.from_ms)}</th>
                <td class="number">{slice.admitted}</td>
                <td class="number">{slice.denied}</td>
                <td class="number">{grouped(slice.used)}</td>
            </tr>
        }
    };
    let rows: Vec<_> = picture.slices().into_iter().map(row).collect();
    view! {
        <details>
            <summary class="note">"View as table"</summary>
            <table>
                <thead>
                    <tr>
                        <th scope="col">"From"</th>
                        <th scope="col" class="number">"Allowed"</th>
                        <th scope="col" class="number">"Denied"</th>
                        <th scope="col" class="number">"Counter"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </details>
    }
}

const WIDTH: u64 = 480;
const HEIGHT: u64 = 240;
/// The playhead of the style sheet moves by `WIDTH - 2 * MARGIN`.
const MARGIN: u64 = 12;
/// The tops of the rows of requests, and the length of a request.
const ADMITTED_ROW: u64 = 8;
const DENIED_ROW: u64 = 36;
const TICK: u64 = 22;
const CEILING: u64 = 86;
const GROUND: u64 = 214;
