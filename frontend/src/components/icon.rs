//! Icons: the names of `vendor/icons.txt`, whose drawings are part of the page.

use leptos::prelude::*;

/// An icon beside a text, or in a button with a label; screen readers skip it.
#[component]
pub fn Icon(name: &'static str) -> impl IntoView {
    view! { <svg class="icon" aria-hidden="true" focusable="false"><use_ href=format!("#icon-{name}") /></svg> }
}
