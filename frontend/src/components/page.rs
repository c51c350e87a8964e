//! The head of a page: its title, which is also the document's title, and its actions.

use std::sync::atomic::{AtomicBool, Ordering};

use leptos::html;
use leptos::prelude::*;

use crate::components::logo::Logo;

#[component]
pub fn PageHeader(
    #[prop(into)] title: Signal<String>,
    #[prop(optional, into)] lead: Option<String>,
    #[prop(optional)] children: Option<Children>,
) -> impl IntoView {
    let heading = NodeRef::<html::H1>::new();
    Effect::new(move |_| document().set_title(&format!("{} · Weir", title.get())));
    Effect::new(move |_| {
        if let Some(heading) = heading.get()
            && NAVIGATED.swap(true, Ordering::Relaxed)
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

/// A page of its own outside the frame of a tenant, such as the sign-in.
#[component]
pub fn NarrowPage(title: &'static str, children: Children) -> impl IntoView {
    view! {
        <main class="narrow">
            <p class="brand"><Logo /></p>
            <PageHeader title />
            {children()}
        </main>
    }
}

/// Whether a page was shown before this one; if so, focus moves to the new page's heading.
static NAVIGATED: AtomicBool = AtomicBool::new(false);
