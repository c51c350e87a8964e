//! The namespace that pages are filtered by, stored in the URL and kept from page to page.

use std::collections::BTreeSet;

use leptos::prelude::*;

use crate::components::field::{Binding, fresh_id};
use crate::components::url_state::url_text;

/// The last chosen namespace, which a page without one in its URL takes over; empty for all. Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct SharedNamespace(RwSignal<String>);

impl SharedNamespace {
    pub fn new() -> Self {
        Self(RwSignal::new(String::new()))
    }

    /// Forgets the namespace, which belongs to one tenant.
    pub fn clear(self) {
        self.0.set(String::new());
    }
}

/// The namespace in the URL; empty for all.
pub fn namespace_in_url() -> Binding<String> {
    let shared = expect_context::<SharedNamespace>().0;
    let in_url = url_text(&["namespace"]);
    let last = shared.get_untracked();
    if in_url.value.with_untracked(String::is_empty) && !last.is_empty() {
        request_animation_frame(move || {
            in_url.set.try_run(last);
        });
    }
    Effect::new(move |before: Option<String>| {
        let namespace = in_url.value.get();
        if before.is_some() || !namespace.is_empty() {
            shared.set(namespace.clone());
        }
        namespace
    });
    in_url
}

/// A select of the known namespaces.
#[component]
pub fn NamespacePicker(
    namespace: Binding<String>,
    #[prop(into)] known: Signal<BTreeSet<String>>,
) -> impl IntoView {
    let id = fresh_id();
    let options = move || {
        let chosen = namespace.value.get();
        let mut names = known.get();
        if !chosen.is_empty() {
            names.insert(chosen.clone());
        }
        let option = |name: String| {
            let (is_chosen, value) = (name == chosen, name.clone());
            view! { <option value=value prop:selected=is_chosen>{name}</option> }
        };
        names.into_iter().map(option).collect::<Vec<_>>()
    };
    let none = move || namespace.value.with(String::is_empty);
    view! {
        <div class="field">
            <label for=id.clone()>"Namespace"</label>
            <select id=id on:change=move |event| namespace.set.run(event_target_value(&event))>
                <option value="" prop:selected=none>"All namespaces"</option>
                {options}
            </select>
        </div>
    }
}
