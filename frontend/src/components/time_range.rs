//! The time range of statistics, and how current they are.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate, use_query_map};
use weir_wire::time::DateTime;

use crate::browser;
use crate::components::feedback::Warning;
use crate::components::field::Binding;
use crate::components::time::RelativeTime;
use crate::model::number::grouped;
use crate::model::time_range::{Preset, TimeRange};

/// The time range in the URL; setting it changes the URL.
pub fn time_range_in_url() -> Binding<TimeRange> {
    let (query, location, navigate) = (use_query_map(), use_location(), use_navigate());
    let range = Memo::new(move |_| query.with(|query| TimeRange::of(|name| query.get(name))));
    let set = Callback::new(move |range: TimeRange| {
        let path = location.pathname.get_untracked();
        let options = NavigateOptions { scroll: false, ..NavigateOptions::default() };
        navigate(&format!("{path}{}", range.query()), options);
    });
    Binding { value: range.into(), set }
}

/// A button for each preset, and the custom range if there is one.
#[component]
pub fn TimeRangePicker(range: Binding<TimeRange>) -> impl IntoView {
    let button = move |length: Preset| {
        let chosen = move || (range.value.get() == TimeRange::Last(length)).to_string();
        view! {
            <button type="button" class="button" aria-pressed=chosen on:click=move |_| range.set.run(TimeRange::Last(length))>
                {length.as_str()}
            </button>
        }
    };
    let custom = move || match range.value.get() {
        TimeRange::Between { from_ms, to_ms } => {
            Some(format!("{} to {}", browser::local_time(from_ms), browser::local_time(to_ms)))
        }
        TimeRange::Last(_) => None,
    };
    view! {
        <div class="time-range-picker" role="group" aria-label="Time range">
            {Preset::ALL.map(button)}
            <span class="muted">{custom}</span>
        </div>
    }
}

/// When the statistics were last updated, and how many decisions they are missing.
#[component]
pub fn Freshness(as_of: Signal<DateTime>, dropped: Signal<u64>) -> impl IntoView {
    view! {
        <p class="note" role="status">"Updated "{move || view! { <RelativeTime at=as_of.get() /> }}"."</p>
        {move || (dropped.get() > 0).then(|| view! {
            <Warning>
                {format!("{} decisions were not counted during overload, so these totals are too low.", grouped(dropped.get()))}
            </Warning>
        })}
    }
}
