//! The head of a page: its title, also in the browser's tab, and what can be done there.

use std::sync::atomic::{AtomicBool, Ordering};

use leptos::html;
use leptos::prelude::*;

/// Title, one line below it, and buttons.
#[component]
pub fn PageHead(
    #[prop(into)] title: Signal<String>,
    #[prop(optional, into)] lead: Option<String>,
    #[prop(optional)] children: Option<Children>,
) -> impl IntoView {
    let heading = NodeRef::<html::H1>::new();
    Effect::new(move |_| document().set_title(&format!("{} · Weir", title.get())));
    Effect::new(move |_| {
        if let Some(heading) = heading.get()
            && LED_HERE.swap(true, Ordering::Relaxed)
        {
            drop(heading.focus());
        }
    });
    view! {
        <header class="page-head">
            <div>
                <h1 node_ref=heading tabindex="-1">{title}</h1>
                {lead.map(|lead| view! { <p class="lead">{lead}</p> })}
            </div>
            {children.map(|children| view! { <div class="actions">{children()}</div> })}
        </header>
    }
}

/// Whether a page was shown before this one: whoever comes from there finds the keyboard at the new heading.
static LED_HERE: AtomicBool = AtomicBool::new(false);
