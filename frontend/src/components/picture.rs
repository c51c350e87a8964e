//! A picture of how a rule treats a traffic pattern, and the same numbers as a table.

use leptos::prelude::*;
use weir_domain::rule::Rule;

use crate::browser::pointer_position;
use crate::charts::geometry::{Scale, area};
use crate::components::field::{Binding, Choice};
use crate::model::duration;
use crate::model::number::grouped;
use crate::model::picture::{Dot, Pattern, Picture, SLICES, Slice, WINDOWS};

/// The picture of `rule`, which is `None` while the form is invalid or the rule has no limits.
#[component]
pub fn RulePicture(#[prop(into)] rule: Signal<Option<SimulatedRule>>) -> impl IntoView {
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
            <h2 id="picture-heading">"Preview"</h2>
            <Choice label="Traffic pattern of one subject" value=chosen options=patterns />
            <Show when=move || pattern.get() == Pattern::ByHand><PlaceCheckboxes by_hand /></Show>
            {move || picture.get().map(|picture| drawing(&picture, put))}
            <p class="note" aria-live="polite">{summary}</p>
            <p class="note">{worst}</p>
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

fn drawing(picture: &Picture, put: Callback<u64>) -> impl IntoView + use<> {
    let x = Scale { most: picture.span_us(), start: MARGIN, end: WIDTH - MARGIN };
    let y = Scale { most: picture.limit, start: GROUND, end: CEILING };
    let path = area(x, y, &picture.level);
    let dot = |dot: &Dot| {
        let (class, row) =
            if dot.admitted { ("allowed", ADMITTED_ROW) } else { ("denied", DENIED_ROW) };
        view! { <circle class=class cx=x.place(dot.at_us) cy=row r="4" /> }
    };
    let dots: Vec<_> = picture.dots.iter().map(dot).collect();
    let boundary = |at: u64| {
        let along = x.place(picture.window_ms * 1000 * at);
        view! { <line class="boundary" x1=along x2=along y1=CEILING y2=GROUND /> }
    };
    let boundaries: Vec<_> = (0..=WINDOWS).map(boundary).collect();
    // For pointers only; the checkboxes are the keyboard's way.
    let click = move |event: leptos::ev::MouseEvent| {
        let Some(along) = pointer_position(&event, WIDTH) else { return };
        put.run((along.saturating_sub(MARGIN) * SLICES / (WIDTH - 2 * MARGIN)).min(SLICES - 1));
    };
    let full = format!("Limit: {}", grouped(picture.limit));
    let length = duration::short(picture.window_ms * WINDOWS);
    let label =
        format!("Allowed and denied requests, and the level of the counter. {}", picture.summary());
    view! {
        <svg viewBox=format!("0 0 {WIDTH} {HEIGHT}") role="img" aria-label=label on:click=click>
            {boundaries}
            <path class="level" d=path />
            <line class="full" x1="8" x2=WIDTH - 8 y1=CEILING y2=CEILING />
            <text x="8" y=CEILING - 6>{full}</text>
            <text x="8" y=HEIGHT - 4>"0"</text>
            <text class="end" x=WIDTH - 8 y=HEIGHT - 4>{length}</text>
            {dots}
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

const WIDTH: u64 = 360;
const MARGIN: u64 = 8;
const HEIGHT: u64 = 190;
const ADMITTED_ROW: u64 = 10;
const DENIED_ROW: u64 = 24;
const CEILING: u64 = 56;
const GROUND: u64 = 172;
