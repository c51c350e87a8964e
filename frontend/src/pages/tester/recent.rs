//! Who was denied lately: a link each, which takes the request over.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::stats::DenialEntry;

use crate::api::Api;
use crate::components::load::{load, loaded};
use crate::components::time::When;
use crate::model::request_link::{each_once, request_link};
use crate::model::words;
use crate::pages::shell::TenantId;

/// Fetched when it is opened for the first time.
#[component]
pub(super) fn Recent() -> impl IntoView {
    let opened = RwSignal::new(false);
    view! {
        <details on:toggle=move |_| opened.set(true)>
            <summary>"Take a recent denial"</summary>
            <Show when=move || opened.get()><Denials /></Show>
        </details>
    }
}

#[component]
fn Denials() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let denials = load(move || {
        let tenant = tenant.get();
        async move { api.denials(&tenant, None).await }
    });
    loaded(denials, move |denials| {
        let lines: Vec<_> = each_once(denials.data).into_iter().map(line).collect();
        if lines.is_empty() {
            return view! { <p class="note">"Nobody was denied of late."</p> }.into_any();
        }
        view! { <ul class="list">{lines}</ul> }.into_any()
    })
}

fn line(denial: DenialEntry) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let link = request_link(Some(&denial.namespace), &denial.subject);
    view! {
        <li>
            <A href=move || tenant.page(&link)>{words::subject(&denial.subject)}</A>
            <span>"by "{denial.rule}</span>
            <span class="quiet"><When at=denial.at /></span>
        </li>
    }
}
