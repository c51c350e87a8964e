//! A search field with suggestions: it shows the chosen option, typing searches, the arrow keys move, Enter chooses,
//! and Escape keeps the chosen option.

use leptos::ev::KeyboardEvent;
use leptos::html;
use leptos::prelude::*;

use crate::browser;
use crate::components::field::fresh_id;

/// The chosen option, the search text and its results; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Suggestions {
    pub chosen: Signal<String>,
    pub typed: RwSignal<String>,
    pub open: RwSignal<bool>,
    pub options: Signal<Vec<String>>,
    /// The picture of the option at an index.
    pub picture: Callback<usize, Option<AnyView>>,
    /// Chooses the option at an index.
    pub choose: Callback<usize>,
    /// The status line below the field.
    pub status: Signal<String>,
}

#[component]
pub(super) fn Suggest(
    label: String,
    suggestions: Suggestions,
    problem: Signal<Option<String>>,
) -> impl IntoView {
    let field = Interaction::of(suggestions);
    let id = fresh_id();
    let (list_id, note_id) = (format!("{id}-list"), format!("{id}-note"));
    let (field_id, options_id) = (id.clone(), id.clone());
    let pointed = move || field.list_visible.get().then(|| option_id(&field_id, field.at.get()));
    let wrong = move || problem.with(Option::is_some);
    let keys = {
        let id = id.clone();
        move |event: KeyboardEvent| field.pressed(&event, &id)
    };
    view! {
        <div class="field suggest">
            <label for=id.clone()>{label.clone()}</label>
            <input
                id=id
                node_ref=field.input
                type="text"
                role="combobox"
                autocomplete="off"
                spellcheck="false"
                aria-autocomplete="list"
                aria-expanded=move || if field.list_visible.get() { "true" } else { "false" }
                aria-controls=list_id.clone()
                aria-activedescendant=pointed
                aria-describedby=note_id.clone()
                aria-invalid=move || wrong().then_some("true")
                prop:value=move || field.text()
                on:input=move |event| field.search(event_target_value(&event))
                on:click=move |_| field.open_list()
                on:focus=move |_| field.select()
                on:blur=move |_| field.close()
                on:keydown=keys
            />
            <div id=note_id class="note" class:field-problem=wrong aria-live="polite">
                {move || problem.get().unwrap_or_else(|| suggestions.status.get())}
            </div>
            // Keeps focus in the field while the pointer is pressed in the list; losing focus would close the list.
            <ul
                id=list_id
                class="options"
                role="listbox"
                aria-label=label
                hidden=move || !field.list_visible.get()
                on:mousedown=|event| event.prevent_default()
            >
                {move || field.option_items(&options_id)}
            </ul>
        </div>
    }
}

/// The interaction state of the field; cheap to copy.
#[derive(Debug, Clone, Copy)]
struct Interaction {
    suggestions: Suggestions,
    input: NodeRef<html::Input>,
    /// Whether the text has been edited since the list opened; until then the field shows the chosen option.
    edited: RwSignal<bool>,
    walked: RwSignal<usize>,
    /// The option that Enter chooses.
    at: Memo<usize>,
    /// Whether the list is visible.
    list_visible: Memo<bool>,
}

impl Interaction {
    fn of(suggestions: Suggestions) -> Self {
        let walked = RwSignal::new(0_usize);
        let last = move || suggestions.options.with(Vec::len).saturating_sub(1);
        Self {
            suggestions,
            input: NodeRef::new(),
            edited: RwSignal::new(false),
            walked,
            at: Memo::new(move |_| walked.get().min(last())),
            list_visible: Memo::new(move |_| {
                suggestions.open.get() && suggestions.options.with(|options| !options.is_empty())
            }),
        }
    }

    /// The text in the field; tracked.
    fn text(self) -> String {
        if self.edited.get() { self.suggestions.typed.get() } else { self.suggestions.chosen.get() }
    }

    fn open_list(self) {
        if !self.suggestions.open.get_untracked() {
            self.walked.set(0);
            self.suggestions.open.set(true);
            self.select();
        }
    }

    /// Selects the text, so that typing replaces it.
    fn select(self) {
        if let Some(input) = self.input.get_untracked() {
            input.set_value(&untrack(|| self.text()));
            input.select();
        }
    }

    fn search(self, typed: String) {
        self.suggestions.typed.set(typed);
        self.edited.set(true);
        self.walked.set(0);
        self.suggestions.open.set(true);
    }

    fn close(self) {
        self.suggestions.open.set(false);
        self.edited.set(false);
        self.suggestions.typed.set(String::new());
    }

    fn choose_at(self, at: usize) {
        self.suggestions.choose.run(at);
        self.close();
        self.select();
    }

    fn pressed(self, event: &KeyboardEvent, id: &str) {
        let open = self.suggestions.open.get_untracked();
        let (now, count) =
            (self.at.get_untracked(), self.suggestions.options.with_untracked(Vec::len).max(1));
        match event.key().as_str() {
            "ArrowDown" | "ArrowUp" if !open => self.open_list(),
            "ArrowDown" => self.walked.set((now + 1) % count),
            "ArrowUp" => self.walked.set((now + count - 1) % count),
            "Enter" if self.list_visible.get_untracked() => self.choose_at(now),
            "Enter" | "Escape" if open => {
                self.close();
                self.select();
            }
            _ => return,
        }
        event.prevent_default();
        browser::reveal(&option_id(id, self.at.get_untracked()));
    }

    fn option_items(self, id: &str) -> Vec<impl IntoView + use<>> {
        let option = |(at, label): (usize, String)| {
            let is_it = move || if self.at.get() == at { "true" } else { "false" };
            view! {
                <li id=option_id(id, at) role="option" aria-selected=is_it on:click=move |_| self.choose_at(at)>
                    {self.suggestions.picture.run(at)}{label}
                </li>
            }
        };
        self.suggestions.options.get().into_iter().enumerate().map(option).collect()
    }
}

fn option_id(id: &str, at: usize) -> String {
    format!("{id}-{at}")
}
