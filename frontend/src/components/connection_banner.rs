//! The banner of an interrupted connection, above the page.

use std::time::Duration;

use leptos::prelude::*;

use crate::api::Connection;
use crate::browser;
use crate::components::icon::Icon;
use crate::components::timer::repeat;

#[component]
pub fn ConnectionBanner() -> impl IntoView {
    let connection = expect_context::<Connection>();
    let interrupted = Memo::new(move |_| connection.problem().is_some());
    repeat(move || interrupted.get().then_some(RETRY), move || connection.retry());
    move || {
        let problem = connection.problem()?;
        let detail = if problem.is_unreachable() { String::new() } else { problem.detail.clone() };
        let age =
            move || format!("Showing data from {}.", browser::clock_time(connection.answered_ms()));
        Some(view! {
            <div class="banner" role="alert">
                <Icon name="triangle-alert" />
                <p><span class="name">{problem.title}"."</span>" "{detail}" Retrying… "{age}</p>
                {problem.request_id.map(|id| view! { <p class="muted">"Request ID: "<code>{id}</code></p> })}
                <button type="button" class="button" on:click=move |_| connection.retry()>"Try again"</button>
            </div>
        })
    }
}

/// The interval between two attempts while the server does not answer.
const RETRY: Duration = Duration::from_secs(3);
