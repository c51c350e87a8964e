//! Tabs, chosen with the pointer or the arrow keys.

use leptos::html;
use leptos::prelude::*;

use crate::components::field::{Binding, fresh_id};
use crate::components::url_state::url_text;

#[component]
pub fn Tabs(
    #[prop(into)] label: String,
    names: Vec<&'static str>,
    /// The position of the chosen tab.
    chosen: Binding<usize>,
    panel: Callback<usize, AnyView>,
) -> impl IntoView {
    let Binding { value: chosen, set } = chosen;
    let id = fresh_id();
    let count = names.len();
    let list = NodeRef::<html::Div>::new();
    let keys = move |event: leptos::ev::KeyboardEvent| {
        let now = chosen.get_untracked();
        let next = match event.key().as_str() {
            "ArrowRight" => (now + 1) % count,
            "ArrowLeft" => (now + count - 1) % count,
            "Home" => 0,
            "End" => count - 1,
            _ => return,
        };
        event.prevent_default();
        set.run(next);
        let tabs = list.get_untracked().map(|list| list.children());
        let tab = tabs.and_then(|tabs| tabs.item(u32::try_from(next).unwrap_or(0)));
        crate::browser::focus(tab);
    };
    let (panel_id, tab_id) = (format!("{id}-panel"), move |at: usize| format!("{id}-{at}"));
    let tab = |(at, name): (usize, &'static str)| {
        view! {
            <button
                type="button"
                role="tab"
                id=tab_id(at)
                aria-controls=panel_id.clone()
                aria-selected=move || if chosen.get() == at { "true" } else { "false" }
                tabindex=move || if chosen.get() == at { "0" } else { "-1" }
                on:click=move |_| set.run(at)
            >
                {name}
            </button>
        }
    };
    let tabs: Vec<_> = names.into_iter().enumerate().map(tab).collect();
    view! {
        <div class="tabs" role="tablist" aria-label=label node_ref=list on:keydown=keys>{tabs}</div>
        <div role="tabpanel" id=panel_id aria-labelledby=move || tab_id(chosen.get())>
            {move || panel.run(chosen.get())}
        </div>
    }
}

/// The chosen tab, of which the URL has the name.
pub fn tab_in_url(names: &'static [&'static str]) -> Binding<usize> {
    let in_url = url_text(&["tab"]);
    let position = move |name: &String| names.iter().position(|tab| tab.to_lowercase() == *name);
    Binding {
        value: Signal::derive(move || in_url.value.with(position).unwrap_or_default()),
        set: Callback::new(move |at: usize| {
            in_url.set.run(if at == 0 { String::new() } else { names[at].to_lowercase() });
        }),
    }
}
