//! The week of a schedule: a bar for each day, filled where the rule applies.

use leptos::prelude::*;
use weir_domain::rule::week_spans;

use super::editor::Editor;
use crate::components::control_flow::Show;

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const DAY_MINUTES: u16 = 24 * 60;

/// The week that the form describes; nothing while it names no hours, or none that can be read.
#[component]
pub(super) fn Week(editor: Editor) -> impl IntoView {
    let spans = Memo::new(move |_| {
        editor.form.with(|form| {
            let lines = form.controls.weekly.lines().map(str::trim);
            let weekly: Vec<String> =
                lines.filter(|line| !line.is_empty()).map(str::to_owned).collect();
            week_spans(&weekly).filter(|spans| !spans.is_empty())
        })
    });
    let days = move || {
        let spans = spans.get().unwrap_or_default();
        let day = |(at, name): (u16, &'static str)| {
            let hours = hours(&spans, at);
            let bar = |(from, until): &(u16, u16)| {
                let (left, width) = (share(*from), share(until - from));
                view! { <i style=("left", left) style=("width", width)></i> }
            };
            let bars: Vec<_> = hours.iter().map(bar).collect();
            view! { <div class="week-day"><span>{name}</span><span class="week-bar">{bars}</span></div> }
        };
        (0..).zip(DAYS).map(day).collect::<Vec<_>>()
    };
    let label = move || {
        let spans = spans.get().unwrap_or_default();
        let text = |(at, name): (u16, &str)| {
            let hours: Vec<_> = hours(&spans, at).iter().map(clock).collect();
            (!hours.is_empty()).then(|| format!("{name} {}", hours.join(" and ")))
        };
        let days: Vec<_> = (0..).zip(DAYS).filter_map(text).collect();
        format!("The rule applies {}", days.join(", "))
    };
    view! {
        <Show when=move || spans.with(Option::is_some)>
            <div class="week" role="img" aria-label=label>{days}</div>
        </Show>
    }
}

/// The minutes of a day in which the rule applies.
fn hours(spans: &[(u16, u16)], day: u16) -> Vec<(u16, u16)> {
    let (start, end) = (day * DAY_MINUTES, (day + 1) * DAY_MINUTES);
    let inside = spans.iter().map(|(from, until)| ((*from).max(start), (*until).min(end)));
    inside
        .filter(|(from, until)| from < until)
        .map(|(from, until)| (from - start, until - start))
        .collect()
}

fn share(minutes: u16) -> String {
    format!("{:.2}%", f64::from(minutes) / f64::from(DAY_MINUTES) * 100.0)
}

fn clock((from, until): &(u16, u16)) -> String {
    let text = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
    format!("{} to {}", text(*from), text(*until))
}
