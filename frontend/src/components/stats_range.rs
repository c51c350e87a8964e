//! Which stretch of time is shown, and how fresh it is.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate, use_query_map};
use weir_wire::time::DateTime;

use crate::browser;
use crate::components::feedback::Warning;
use crate::components::field::Bind;
use crate::components::time::When;
use crate::model::number::grouped;
use crate::model::span::{Length, Span};

/// The stretch that the address says; choosing another changes the address.
pub fn span_by_address() -> Bind<Span> {
    let (query, location, navigate) = (use_query_map(), use_location(), use_navigate());
    let span = Memo::new(move |_| query.with(|query| Span::of(|name| query.get(name))));
    let set = Callback::new(move |span: Span| {
        let path = location.pathname.get_untracked();
        let options = NavigateOptions { scroll: false, ..NavigateOptions::default() };
        navigate(&format!("{path}{}", span.query()), options);
    });
    Bind { value: span.into(), set }
}

/// A button for each length, and what was marked instead.
#[component]
pub fn SpanChoice(span: Bind<Span>) -> impl IntoView {
    let button = move |length: Length| {
        let chosen = move || (span.value.get() == Span::Last(length)).to_string();
        view! {
            <button type="button" class="button" aria-pressed=chosen on:click=move |_| span.set.run(Span::Last(length))>
                {length.as_str()}
            </button>
        }
    };
    let marked = move || match span.value.get() {
        Span::Between { from_ms, to_ms } => {
            Some(format!("{} to {}", browser::local_time(from_ms), browser::local_time(to_ms)))
        }
        Span::Last(_) => None,
    };
    view! {
        <div class="span-choice" role="group" aria-label="Time">
            {Length::ALL.map(button)}
            <span class="quiet">{marked}</span>
        </div>
    }
}

/// Until when everything is counted, and what is missing.
#[component]
pub fn Freshness(as_of: Signal<DateTime>, dropped: Signal<u64>) -> impl IntoView {
    view! {
        <p class="note" role="status">"Counted until "{move || view! { <When at=as_of.get() /> }}"."</p>
        {move || (dropped.get() > 0).then(|| view! {
            <Warning>
                {format!("Gates were too busy to count {} decisions in this time: the numbers here are too low by that.", grouped(dropped.get()))}
            </Warning>
        })}
    }
}
