//! Times: relative with the exact time on hover, or the reverse.

use leptos::prelude::*;
use weir_wire::time::DateTime;

use crate::browser;
use crate::model::age::relative;

#[component]
pub fn RelativeTime(at: DateTime) -> impl IntoView {
    let at_ms = at.0.as_millis();
    let exact = browser::local_time(at_ms);
    view! { <time datetime=at.text() title=exact>{relative(at_ms, browser::now_ms())}</time> }
}

/// An absolute time, for deadlines.
#[component]
pub fn ExactTime(at: DateTime) -> impl IntoView {
    let at_ms = at.0.as_millis();
    let distance = relative(at_ms, browser::now_ms());
    view! { <time datetime=at.text() title=distance>{browser::local_time(at_ms)}</time> }
}
