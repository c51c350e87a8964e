//! A field with a list below it: typing narrows the list, the arrows walk in it, Enter chooses.

use leptos::html;
use leptos::prelude::*;

use crate::components::field::fresh_id;

/// Its kind, what it is called, and what tells it from others.
pub type Line = (&'static str, String, String);

/// The field and the list.
#[component]
pub fn Combobox(
    #[prop(into)] label: String,
    typed: RwSignal<String>,
    lines: Signal<Vec<Line>>,
    choose: Callback<usize>,
) -> impl IntoView {
    let id = fresh_id();
    let list_id = format!("{id}-list");
    let line_id = {
        let id = id.clone();
        move |at: usize| format!("{id}-{at}")
    };
    let active = RwSignal::new(0_usize);
    let input = NodeRef::<html::Input>::new();
    Effect::new(move |_| {
        if let Some(input) = input.get() {
            drop(input.focus());
        }
    });
    let keys = {
        let line_id = line_id.clone();
        move |event: leptos::ev::KeyboardEvent| {
            let (now, count) = (active.get_untracked(), lines.with_untracked(Vec::len).max(1));
            match event.key().as_str() {
                "ArrowDown" => active.set((now + 1) % count),
                "ArrowUp" => active.set((now + count - 1) % count),
                "Enter" => choose.run(now),
                _ => return,
            }
            event.prevent_default();
            crate::browser::reveal(&line_id(active.get_untracked()));
        }
    };
    let pointed = {
        let line_id = line_id.clone();
        move || lines.with(|lines| !lines.is_empty()).then(|| line_id(active.get()))
    };
    let nothing = move || lines.with(Vec::is_empty).then_some("Nothing has these words.");
    let listed = list_id.clone();
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
                aria-activedescendant=pointed
                prop:value=typed
                on:input=move |event| {
                    typed.set(event_target_value(&event));
                    active.set(0);
                }
                on:keydown=keys
            />
        </div>
        <ul id=listed class="options" role="listbox" aria-label=label>
            {move || options(lines.get(), active, &line_id, choose)}
        </ul>
        <p class="note" role="status">{nothing}</p>
    }
}

fn options(
    lines: Vec<Line>,
    active: RwSignal<usize>,
    line_id: &dyn Fn(usize) -> String,
    choose: Callback<usize>,
) -> Vec<impl IntoView + use<>> {
    let option = |(at, (kind, label, detail)): (usize, Line)| {
        view! {
            <li
                id=line_id(at)
                role="option"
                aria-selected=move || if active.get() == at { "true" } else { "false" }
                on:click=move |_| choose.run(at)
            >
                <span class="name">{label}</span>" "<span class="quiet">{detail}</span>
                <span class="kind">{kind}</span>
            </li>
        }
    };
    lines.into_iter().enumerate().map(option).collect()
}
