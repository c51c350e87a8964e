//! The mark and the name of Weir.

use leptos::prelude::*;

#[component]
pub fn Logo() -> impl IntoView {
    view! { <img src="/icon.svg" alt="" width="24" height="24" /><span>"Weir"</span> }
}
