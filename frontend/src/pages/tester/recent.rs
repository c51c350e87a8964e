//! Recent denials as links that fill in the request.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::stats::DenialEntry;

use crate::api::Api;
use crate::components::control_flow::Show;
use crate::components::remote_data::{fetch_data, show};
use crate::components::time::RelativeTime;
use crate::model::request_link::{denial_link, distinct_subjects};
use crate::model::subject;
use crate::pages::shell::TenantId;

/// Fetched when it is first opened.
#[component]
pub(super) fn Recent() -> impl IntoView {
    let opened = RwSignal::new(false);
    view! {
        <details on:toggle=move |_| opened.set(true)>
            <summary>"Start from a recent denial"</summary>
            <Show when=move || opened.get()><Denials /></Show>
        </details>
    }
}

#[component]
fn Denials() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let denials = fetch_data(move || api.denials(&tenant.get(), None, "", None));
    show(denials, move |denials| {
        let lines: Vec<_> = distinct_subjects(denials.data).into_iter().map(row).collect();
        if lines.is_empty() {
            return view! { <p class="note">"No recent denials"</p> }.into_any();
        }
        view! { <ul class="list">{lines}</ul> }.into_any()
    })
}

fn row(denial: DenialEntry) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let link = denial_link(&denial);
    view! {
        <li>
            <A href=move || tenant.page(&link)><bdi>{subject::label(&denial.subject)}</bdi></A>
            <span>"by "{denial.rule}</span>
            <span class="muted"><RelativeTime at=denial.at /></span>
        </li>
    }
}
