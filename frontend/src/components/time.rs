//! Times: relative with the exact time on hover, or the reverse. Relative times follow the clock.

use std::time::Duration;

use leptos::prelude::*;
use weir_wire::time::DateTime;

use crate::browser;
use crate::components::timer::repeat;
use crate::model::age::relative;

/// The current time, updated every second. One clock serves the whole dashboard; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Clock(RwSignal<i64>);

impl Clock {
    /// A clock that stops with the current owner.
    pub fn start() -> Self {
        let now_ms = RwSignal::new(browser::now_ms());
        repeat(|| Some(Duration::from_secs(1)), move || now_ms.set(browser::now_ms()));
        Self(now_ms)
    }

    /// Milliseconds since 1970; tracked.
    pub fn now_ms(self) -> i64 {
        self.0.get()
    }
}

#[component]
pub fn RelativeTime(at: DateTime) -> impl IntoView {
    let clock = expect_context::<Clock>();
    let at_ms = at.0.as_millis();
    let exact = browser::local_time(at_ms);
    view! { <time datetime=at.text() title=exact>{move || relative(at_ms, clock.now_ms())}</time> }
}

/// An absolute time, for deadlines.
#[component]
pub fn ExactTime(at: DateTime) -> impl IntoView {
    let clock = expect_context::<Clock>();
    let at_ms = at.0.as_millis();
    let distance = move || relative(at_ms, clock.now_ms());
    view! { <time datetime=at.text() title=distance>{browser::local_time(at_ms)}</time> }
}
