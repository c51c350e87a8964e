//! Times: how long ago, with the exact one on hover.

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
