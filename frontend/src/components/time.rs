//! Times: how long ago with the exact one on hover, or the other way round.

use leptos::prelude::*;
use weir_wire::time::DateTime;

use crate::browser;
use crate::model::age::relative;

/// A point in time.
#[component]
pub fn When(at: DateTime) -> impl IntoView {
    let at_ms = at.0.as_millis();
    let exact = browser::local_time(at_ms);
    view! { <time datetime=at.text() title=exact>{relative(at_ms, browser::now_ms())}</time> }
}

/// A point in time by calendar and clock, where one has to be there in time.
#[component]
pub fn Exactly(at: DateTime) -> impl IntoView {
    let at_ms = at.0.as_millis();
    let distance = relative(at_ms, browser::now_ms());
    view! { <time datetime=at.text() title=distance>{browser::local_time(at_ms)}</time> }
}
