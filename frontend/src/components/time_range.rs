//! The time range of statistics, and how current they are.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate, use_query_map};
use weir_wire::time::DateTime;

use crate::browser;
use crate::components::control_flow::Show;
use crate::components::feedback::Warning;
use crate::components::field::{Binding, Choice};
use crate::components::time::RelativeTime;
use crate::components::time_series::Zoom;
use crate::model::number::grouped;
use crate::model::time_range::{Comparison, Preset, TimeRange, TimeSelection};

/// The last selection, which a page without one in its URL takes over; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct SharedTime(RwSignal<TimeSelection>);

impl SharedTime {
    pub fn new() -> Self {
        Self(RwSignal::new(TimeSelection::DEFAULT))
    }
}

/// The time selection in the URL; setting it changes the URL and leaves other parameters as they are. A page that is opened
/// without one takes over the last selection.
pub fn time_in_url() -> Binding<TimeSelection> {
    let shared = expect_context::<SharedTime>();
    let (query, location, navigate) = (use_query_map(), use_location(), use_navigate());
    let path = location.pathname.get_untracked();
    let value = Memo::new(move |_| query.with(|query| TimeSelection::of(|name| query.get(name))));
    let write = move |selection: TimeSelection, replace: bool| {
        let mut parameters = query.get_untracked();
        for name in TimeSelection::PARAMETERS {
            parameters.remove(name);
        }
        for (name, value) in selection.parameters() {
            parameters.insert(name, value);
        }
        let options = NavigateOptions { scroll: false, replace, ..NavigateOptions::default() };
        navigate(&format!("{path}{}", parameters.to_query_string()), options);
    };
    let last = shared.0.get_untracked();
    let is_named = query.with_untracked(|query| {
        TimeSelection::PARAMETERS.iter().any(|name| query.get(name).is_some())
    });
    if !is_named && last != TimeSelection::DEFAULT {
        let write = write.clone();
        request_animation_frame(move || write(last, true));
    } else {
        shared.0.set(value.get_untracked());
    }
    Effect::new(move |before: Option<TimeSelection>| {
        let selection = value.get();
        if before.is_some_and(|before| before != selection) {
            shared.0.set(selection);
        }
        selection
    });
    let set = Callback::new(move |selection: TimeSelection| write(selection, false));
    Binding { value: value.into(), set }
}

/// Zooming changes the selection in the URL.
pub fn zoom_of(time: Binding<TimeSelection>) -> Zoom {
    let change = move |range: TimeRange| time.set.run(time.value.get_untracked().with_range(range));
    Zoom {
        to: Callback::new(move |range| {
            time.set.run(time.value.get_untracked().zoomed(range, browser::now_ms()));
        }),
        reset: Callback::new(move |()| {
            change(TimeRange::Last(time.value.get_untracked().range.base()));
        }),
        is_zoomed: Signal::derive(move || time.value.get().range.is_custom()),
    }
}

/// A button for each preset, a custom range, and the time to compare with.
#[component]
pub fn TimeRangePicker(
    time: Binding<TimeSelection>,
    /// Whether the page compares the range with an earlier one.
    #[prop(default = true)]
    compares: bool,
) -> impl IntoView {
    let change = move |range: TimeRange| time.set.run(time.value.get_untracked().with_range(range));
    let button = move |length: Preset| {
        let chosen = move || (time.value.get().range == TimeRange::Last(length)).to_string();
        view! {
            <button type="button" class="button" aria-pressed=chosen on:click=move |_| change(TimeRange::Last(length))>
                {length.as_str()}
            </button>
        }
    };
    let options = Comparison::ALL.map(|(one, name)| (one, name.to_owned())).to_vec();
    let comparison = Binding {
        value: Signal::derive(move || time.value.get().comparison),
        set: Callback::new(move |comparison| {
            time.set.run(TimeSelection { comparison, ..time.value.get_untracked() });
        }),
    };
    view! {
        <div class="time-range-picker">
            <div class="segments" role="group" aria-label="Time range">{Preset::ALL.map(button)}</div>
            <CustomRange time />
            {compares.then(|| view! { <Choice label="Compare with" value=comparison options /> })}
        </div>
    }
}

/// A start and an end in the person's time zone.
#[component]
fn CustomRange(time: Binding<TimeSelection>) -> impl IntoView {
    let (from, to) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let open = RwSignal::new(false);
    let is_custom = Memo::new(move |_| time.value.get().range.is_custom());
    let toggle = move |_| {
        let (from_ms, to_ms) = time.value.get_untracked().range.bounds_ms(browser::now_ms());
        from.set(browser::local_input(from_ms));
        to.set(browser::local_input(to_ms));
        open.update(|open| *open = !*open);
    };
    let range = move || {
        let bounds =
            browser::parse_local_input(&from.get()).zip(browser::parse_local_input(&to.get()))?;
        (bounds.0 < bounds.1).then_some(bounds)
    };
    let apply = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        let Some((from_ms, to_ms)) = range() else { return };
        let selection = time.value.get_untracked();
        let base = selection.range.base();
        time.set.run(selection.with_range(TimeRange::Between { from_ms, to_ms, base }));
        open.set(false);
    };
    let label = move || match time.value.get().range {
        TimeRange::Between { from_ms, to_ms, .. } => {
            format!("{} to {}", browser::local_time(from_ms), browser::local_time(to_ms))
        }
        TimeRange::Last(_) => "Custom".to_owned(),
    };
    let field = |label: &'static str, value: RwSignal<String>| {
        view! {
            <label class="field">
                <span>{label}</span>
                <input type="datetime-local" prop:value=value on:input=move |event| value.set(event_target_value(&event)) />
            </label>
        }
    };
    view! {
        <div class="popover-anchor">
            <button type="button" class="button" aria-pressed=move || is_custom.get().to_string() aria-expanded=move || open.get().to_string() on:click=toggle>
                {label}
            </button>
            <Show when=move || open.get()>
                <form class="popover" aria-label="Custom range" on:submit=apply>
                    {field("From", from)}
                    {field("To", to)}
                    <Show when=move || range().is_none()>
                        <p class="field-problem" role="alert">"The start must be before the end."</p>
                    </Show>
                    <div class="actions">
                        <button type="submit" class="button primary" disabled=move || range().is_none()>"Apply"</button>
                        <button type="button" class="button" on:click=move |_| open.set(false)>"Cancel"</button>
                    </div>
                </form>
            </Show>
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
