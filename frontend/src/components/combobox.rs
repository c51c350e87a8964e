//! A combobox: typing filters the list, the arrow keys move in it, Enter chooses.

use leptos::html;
use leptos::prelude::*;

use crate::components::field::fresh_id;

/// Kind, label and detail of an option.
pub type ComboboxOption = (&'static str, String, String);

#[component]
pub fn Combobox(
    #[prop(into)] label: String,
    typed: RwSignal<String>,
    options: Signal<Vec<ComboboxOption>>,
    choose: Callback<usize>,
    /// Whether more options can follow.
    #[prop(into)]
    searching: Signal<bool>,
    /// Whether the field takes the focus.
    #[prop(default = true)]
    focused: bool,
) -> impl IntoView {
    let id = fresh_id();
    let list_id = format!("{id}-list");
    let option_id = {
        let id = id.clone();
        move |at: usize| format!("{id}-{at}")
    };
    let active = RwSignal::new(0_usize);
    let input = NodeRef::<html::Input>::new();
    Effect::new(move |_| {
        if let Some(input) = input.get().filter(|_| focused) {
            drop(input.focus());
        }
    });
    let keys = {
        let option_id = option_id.clone();
        move |event: leptos::ev::KeyboardEvent| {
            let (now, count) = (active.get_untracked(), options.with_untracked(Vec::len).max(1));
            match event.key().as_str() {
                "ArrowDown" => active.set((now + 1) % count),
                "ArrowUp" => active.set((now + count - 1) % count),
                "Enter" => choose.run(now),
                _ => return,
            }
            event.prevent_default();
            crate::browser::reveal(&option_id(active.get_untracked()));
        }
    };
    let active_id = {
        let option_id = option_id.clone();
        move || options.with(|options| !options.is_empty()).then(|| option_id(active.get()))
    };
    let no_results = move || {
        let none = options.with(Vec::is_empty) && typed.with(|typed| !typed.is_empty());
        none.then(|| if searching.get() { "Searching…" } else { "No results" })
    };
    let list_id_copy = list_id.clone();
    view! {
        <div class="field">
            <label for=id.clone()>{label.clone()}</label>
            <input
                id=id
                node_ref=input
                type="text"
                role="combobox"
                autocomplete="off"
                spellcheck="false"
                aria-autocomplete="list"
                aria-expanded="true"
                aria-controls=list_id
                aria-activedescendant=active_id
                prop:value=typed
                on:input=move |event| {
                    typed.set(event_target_value(&event));
                    active.set(0);
                }
                on:keydown=keys
            />
        </div>
        <ul id=list_id_copy class="options" role="listbox" aria-label=label>
            {move || option_items(options.get(), active, &option_id, choose)}
        </ul>
        <p class="note" role="status">{no_results}</p>
    }
}

fn option_items(
    options: Vec<ComboboxOption>,
    active: RwSignal<usize>,
    option_id: &dyn Fn(usize) -> String,
    choose: Callback<usize>,
) -> Vec<impl IntoView + use<>> {
    let option = |(at, (kind, label, detail)): (usize, ComboboxOption)| {
        view! {
            <li
                id=option_id(at)
                role="option"
                aria-selected=move || if active.get() == at { "true" } else { "false" }
                on:click=move |_| choose.run(at)
            >
                <span class="name"><bdi>{label}</bdi></span>" "<span class="muted">{detail}</span>
                <span class="kind">{kind}</span>
            </li>
        }
    };
    options.into_iter().enumerate().map(option).collect()
}
