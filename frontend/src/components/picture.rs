//! A picture of what a rule does to a pattern of traffic, and a table that says the same.

use leptos::prelude::*;
use weir_domain::rule::Rule;

use crate::browser::along;
use crate::charts::geometry::{Scale, area};
use crate::components::field::{Bind, Choice};
use crate::model::duration;
use crate::model::number::grouped;
use crate::model::picture::{Dot, Pattern, Picture, SLICES, Slice, WINDOWS};

/// The picture of `rule`, which is `None` while it is not right or does not limit.
#[component]
pub fn RulePicture(#[prop(into)] rule: Signal<Option<Picturable>>) -> impl IntoView {
    let (pattern, by_hand) = (RwSignal::new(Pattern::Boundary), RwSignal::new(Vec::<u64>::new()));
    let picture = Memo::new(move |_| {
        rule.with(|rule| {
            let Picturable(rule) = rule.as_ref()?;
            Picture::of(rule, pattern.get(), &by_hand.get())
        })
    });
    let patterns = vec![
        (Pattern::Boundary, "Before and after a boundary".to_owned()),
        (Pattern::Burst, "Two bursts".to_owned()),
        (Pattern::Steady, "Steady, above the limit".to_owned()),
        (Pattern::ByHand, "By hand".to_owned()),
    ];
    let chosen =
        Bind { value: pattern.into(), set: Callback::new(move |chosen| pattern.set(chosen)) };
    let summary = move || {
        picture.with(|it| match it {
            Some(picture) => picture.summary(),
            None => "Shown once the limits are right.".to_owned(),
        })
    };
    let worst = move || picture.with(|it| it.as_ref().map(Picture::worst_case));
    let put = Callback::new(move |at: u64| {
        if pattern.get_untracked() != Pattern::ByHand {
            by_hand.set(Vec::new());
            pattern.set(Pattern::ByHand);
        }
        by_hand.update(|places| switch(places, at));
    });
    view! {
        <section class="picture" aria-labelledby="picture-heading">
            <h2 id="picture-heading">"What it does"</h2>
            <Choice label="Traffic of one subject" value=chosen options=patterns />
            <Show when=move || pattern.get() == Pattern::ByHand><Places by_hand /></Show>
            {move || picture.get().map(|it| drawn(&it, put))}
            <p class="note" aria-live="polite">{summary}</p>
            <p class="note">{worst}</p>
            {move || picture.get().map(|it| table(&it))}
        </section>
    }
}

/// A checked rule, equal when it was written alike.
#[derive(Debug, Clone)]
pub struct Picturable(pub Rule);

impl PartialEq for Picturable {
    fn eq(&self, other: &Self) -> bool {
        self.0.draft() == other.0.draft()
    }
}

/// Where requests come, ticked in by hand.
#[component]
fn Places(by_hand: RwSignal<Vec<u64>>) -> impl IntoView {
    let place = move |at: u64| {
        let on = move || by_hand.with(|places| places.contains(&at));
        view! {
            <input
                type="checkbox"
                aria-label=format!("Requests in part {} of {SLICES}", at + 1)
                prop:checked=on
                on:change=move |_| by_hand.update(|places| switch(places, at))
            />
        }
    };
    view! {
        <fieldset class="places">
            <legend class="note">"Tick where requests come, or click into the picture"</legend>
            <div>{(0..SLICES).map(place).collect::<Vec<_>>()}</div>
        </fieldset>
    }
}

/// Puts requests at a place, or takes them away again.
fn switch(places: &mut Vec<u64>, at: u64) {
    match places.iter().position(|place| *place == at) {
        Some(found) => {
            places.remove(found);
        }
        None => places.push(at),
    }
}

fn drawn(picture: &Picture, put: Callback<u64>) -> impl IntoView + use<> {
    let x = Scale { most: picture.span_us(), start: MARGIN, end: WIDTH - MARGIN };
    let y = Scale { most: picture.limit, start: GROUND, end: CEILING };
    let path = area(x, y, &picture.level);
    let dot = |dot: &Dot| {
        let (class, row) =
            if dot.admitted { ("admitted", ADMITTED_ROW) } else { ("refused", DENIED_ROW) };
        view! { <circle class=class cx=x.place(dot.at_us) cy=row r="4" /> }
    };
    let dots: Vec<_> = picture.dots.iter().map(dot).collect();
    let boundary = |at: u64| {
        let along = x.place(picture.window_ms * 1000 * at);
        view! { <line class="edge" x1=along x2=along y1=CEILING y2=GROUND /> }
    };
    let boundaries: Vec<_> = (0..=WINDOWS).map(boundary).collect();
    // The pointer's way; ticks are the keyboard's.
    let click = move |event: leptos::ev::MouseEvent| {
        let Some(along) = along(&event, WIDTH) else { return };
        put.run((along.saturating_sub(MARGIN) * SLICES / (WIDTH - 2 * MARGIN)).min(SLICES - 1));
    };
    let full = format!("full: {}", grouped(picture.limit));
    let length = duration::short(picture.window_ms * WINDOWS);
    let label = format!(
        "Admitted and denied requests over the level of the counter. {}",
        picture.summary()
    );
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
            <span class="admitted-mark">"admitted"</span>
            <span class="refused-mark">"denied"</span>
            <span class="level-mark">"level of the counter"</span>
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
            <summary class="note">"The same as a table"</summary>
            <table>
                <thead>
                    <tr>
                        <th scope="col">"From"</th>
                        <th scope="col" class="number">"Admitted"</th>
                        <th scope="col" class="number">"Denied"</th>
                        <th scope="col" class="number">"Level"</th>
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
