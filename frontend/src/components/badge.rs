//! Coloured badges: red for denied, amber for shadow.

use leptos::prelude::*;
use weir_wire::words::Mode;

use crate::model::labels::capital;

#[component]
pub fn ModeBadge(mode: Mode) -> impl IntoView {
    view! { <span class=format!("badge badge-{}", mode.as_str())>{mode.title()}</span> }
}

#[component]
pub fn PassBadge(
    passes: bool,
    #[prop(into)] yes: String,
    #[prop(into)] no: String,
) -> impl IntoView {
    let class = if passes { "badge badge-allowed" } else { "badge badge-denied" };
    view! { <span class=class>{capital(&if passes { yes } else { no })}</span> }
}
