//! The head of a page: its title, also in the browser's tab, and what can be done there.

use leptos::prelude::*;

/// Title, one line below it, and buttons.
#[component]
pub fn PageHead(
    #[prop(into)] title: Signal<String>,
    #[prop(optional, into)] lead: Option<String>,
    #[prop(optional)] children: Option<Children>,
) -> impl IntoView {
    Effect::new(move |_| document().set_title(&format!("{} · Weir", title.get())));
    view! {
        <header class="page-head">
            <div>
                <h1>{title}</h1>
                {lead.map(|lead| view! { <p class="lead">{lead}</p> })}
            </div>
            {children.map(|children| view! { <div class="actions">{children()}</div> })}
        </header>
    }
}
