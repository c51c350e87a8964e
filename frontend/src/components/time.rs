//! Times: relative with the exact time on hover, or the reverse. Relative times follow the clock.

use std::time::Duration;

use leptos::prelude::*;
use weir_wire::time::DateTime;

use crate::browser;
use crate::components::control_flow::Show;
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

/// The time at which something expires, which stands out on the last day and afterwards.
#[component]
pub fn ExpiryTime(at: Option<DateTime>) -> impl IntoView {
    let Some(at) = at else { return view! { <span>"Never"</span> }.into_any() };
    let clock = expect_context::<Clock>();
    let left_ms = move || at.0.as_millis() - clock.now_ms();
    let is_over = Memo::new(move |_| left_ms() <= 0);
    let is_soon = Memo::new(move |_| (1..DAY_MS).contains(&left_ms()));
    view! {
        <span class:soon=is_soon>
            <Show when=move || is_over.get()><span class="badge badge-degraded">"Expired"</span>" "</Show>
            <RelativeTime at />
        </span>
    }
    .into_any()
}

const DAY_MS: i64 = 86_400_000;
