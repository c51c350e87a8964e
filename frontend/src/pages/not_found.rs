//! The page for addresses that have none.

use leptos::prelude::*;

use crate::components::feedback::Empty;
use crate::components::page::PageHeader;

#[component]
pub fn NotFound() -> impl IntoView {
    view! { <main class="narrow"><NotFoundInside /></main> }
}

/// The same inside the frame of a tenant.
#[component]
pub fn NotFoundInside() -> impl IntoView {
    view! {
        <PageHeader title="Page not found" />
        <Empty title="There is no page at this address.">
            <p><a href="/">"Back to the dashboard"</a></p>
        </Empty>
    }
}
