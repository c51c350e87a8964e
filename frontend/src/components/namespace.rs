//! The namespace that pages are filtered by, stored in the URL and kept from page to page.

use std::collections::BTreeSet;

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::components::field::{Binding, fresh_id};
use crate::components::url_state::url_text;

/// The namespaces of the tenant, and the last chosen one, which a page without one in its URL takes over; empty for all. Cheap to
/// copy.
#[derive(Debug, Clone, Copy)]
pub struct SharedNamespace {
    last: RwSignal<String>,
    /// Empty until they have loaded.
    pub known: RwSignal<BTreeSet<String>>,
}

impl SharedNamespace {
    pub fn new() -> Self {
        Self { last: RwSignal::new(String::new()), known: RwSignal::new(BTreeSet::new()) }
    }

    /// The last chosen namespace; not tracked.
    pub fn now(self) -> String {
        self.last.get_untracked()
    }

    /// Forgets the namespaces, which belong to one tenant.
    pub fn clear(self) {
        self.last.set(String::new());
        self.known.set(BTreeSet::new());
    }
}

/// The namespace in the URL; empty for all. A page that is opened without one takes over the last one, unless its URL names a
/// rule, which can be in any namespace.
pub fn namespace_in_url() -> Binding<String> {
    let shared = expect_context::<SharedNamespace>().last;
    let in_url = url_text(&["namespace"]);
    let names_rule = use_query_map().with_untracked(|query| query.get("rule").is_some());
    let is_open = in_url.value.with_untracked(String::is_empty) && !names_rule;
    let last = if is_open { shared.get_untracked() } else { String::new() };
    // The page shows the last namespace at once, although the URL changes after its first frame.
    let taken_over = RwSignal::new(last.clone());
    if !last.is_empty() {
        request_animation_frame(move || {
            in_url.set.try_run(last);
            taken_over.try_set(String::new());
        });
    }
    Effect::new(move |before: Option<String>| {
        let namespace = in_url.value.get();
        if before.is_some() || !namespace.is_empty() {
            shared.set(namespace.clone());
        }
        namespace
    });
    let value = Memo::new(move |_| {
        let taken_over = taken_over.get();
        if taken_over.is_empty() { in_url.value.get() } else { taken_over }
    });
    Binding { value: value.into(), set: in_url.set }
}

/// A select of the known namespaces.
#[component]
pub fn NamespacePicker(
    namespace: Binding<String>,
    #[prop(into)] known: Signal<BTreeSet<String>>,
) -> impl IntoView {
    name_picker("Namespace", "All namespaces", namespace, known)
}

/// A select of the known names, and of all.
pub fn name_picker(
    label: &'static str,
    all: &'static str,
    chosen: Binding<String>,
    known: Signal<BTreeSet<String>>,
) -> AnyView {
    let id = fresh_id();
    let options = move || {
        let chosen = chosen.value.get();
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
    let none = move || chosen.value.with(String::is_empty);
    view! {
        <div class="field namespace-picker">
            <label for=id.clone()>{label}</label>
            <select id=id on:change=move |event| chosen.set.run(event_target_value(&event))>
                <option value="" prop:selected=none>{all}</option>
                {options}
            </select>
        </div>
    }
    .into_any()
}
