//! A field that suggests: what is chosen stands in it, typing finds something else, the arrows walk, Enter chooses, and Escape
//! leaves what was chosen.

use leptos::ev::KeyboardEvent;
use leptos::html;
use leptos::prelude::*;

use crate::browser;
use crate::components::field::fresh_id;

/// What is chosen, what is looked for, and what that finds; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Suggestions {
    pub chosen: Signal<String>,
    pub typed: RwSignal<String>,
    pub open: RwSignal<bool>,
    pub lines: Signal<Vec<String>>,
    /// The line at this place.
    pub choose: Callback<usize>,
    /// What stands below the field.
    pub told: Signal<String>,
}

/// The field, with its list below it while it is open.
#[component]
pub(super) fn Suggest(
    label: String,
    suggestions: Suggestions,
    problem: Signal<Option<String>>,
) -> impl IntoView {
    let field = Field::of(suggestions);
    let id = fresh_id();
    let (list_id, note_id) = (format!("{id}-list"), format!("{id}-note"));
    let (field_id, lines_id) = (id.clone(), id.clone());
    let pointed = move || field.listed.get().then(|| line_id(&field_id, field.at.get()));
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
                aria-expanded=move || if field.listed.get() { "true" } else { "false" }
                aria-controls=list_id.clone()
                aria-activedescendant=pointed
                aria-describedby=note_id.clone()
                aria-invalid=move || wrong().then_some("true")
                prop:value=move || field.text()
                on:input=move |event| field.look(event_target_value(&event))
                on:click=move |_| field.begin()
                on:focus=move |_| field.select()
                on:blur=move |_| field.close()
                on:keydown=keys
            />
            <div id=note_id class="note" class:field-problem=wrong aria-live="polite">
                {move || problem.get().unwrap_or_else(|| suggestions.told.get())}
            </div>
            // Pressing in the list must not take the focus from the field: that would close it.
            <ul
                id=list_id
                class="options"
                role="listbox"
                aria-label=label
                hidden=move || !field.listed.get()
                on:mousedown=|event| event.prevent_default()
            >
                {move || field.options(&lines_id)}
            </ul>
        </div>
    }
}

/// The field as somebody uses it; cheap to copy.
#[derive(Debug, Clone, Copy)]
struct Field {
    it: Suggestions,
    input: NodeRef<html::Input>,
    /// Whether something was typed since it opened; until then what is chosen stands there.
    begun: RwSignal<bool>,
    walked: RwSignal<usize>,
    /// The line that Enter chooses.
    at: Memo<usize>,
    /// Whether there is a list to be seen.
    listed: Memo<bool>,
}

impl Field {
    fn of(it: Suggestions) -> Self {
        let walked = RwSignal::new(0_usize);
        let last = move || it.lines.with(Vec::len).saturating_sub(1);
        Self {
            it,
            input: NodeRef::new(),
            begun: RwSignal::new(false),
            walked,
            at: Memo::new(move |_| walked.get().min(last())),
            listed: Memo::new(move |_| it.open.get() && it.lines.with(|lines| !lines.is_empty())),
        }
    }

    /// What stands in it; tracked.
    fn text(self) -> String {
        if self.begun.get() { self.it.typed.get() } else { self.it.chosen.get() }
    }

    fn begin(self) {
        if !self.it.open.get_untracked() {
            self.walked.set(0);
            self.it.open.set(true);
            self.select();
        }
    }

    /// So that what is typed next stands in its place.
    fn select(self) {
        if let Some(input) = self.input.get_untracked() {
            input.set_value(&untrack(|| self.text()));
            input.select();
        }
    }

    fn look(self, typed: String) {
        self.it.typed.set(typed);
        self.begun.set(true);
        self.walked.set(0);
        self.it.open.set(true);
    }

    fn close(self) {
        self.it.open.set(false);
        self.begun.set(false);
        self.it.typed.set(String::new());
    }

    fn take(self, at: usize) {
        self.it.choose.run(at);
        self.close();
        self.select();
    }

    fn pressed(self, event: &KeyboardEvent, id: &str) {
        let open = self.it.open.get_untracked();
        let (now, count) = (self.at.get_untracked(), self.it.lines.with_untracked(Vec::len).max(1));
        match event.key().as_str() {
            "ArrowDown" | "ArrowUp" if !open => self.begin(),
            "ArrowDown" => self.walked.set((now + 1) % count),
            "ArrowUp" => self.walked.set((now + count - 1) % count),
            "Enter" if self.listed.get_untracked() => self.take(now),
            "Enter" | "Escape" if open => {
                self.close();
                self.select();
            }
            _ => return,
        }
        event.prevent_default();
        browser::reveal(&line_id(id, self.at.get_untracked()));
    }

    fn options(self, id: &str) -> Vec<impl IntoView + use<>> {
        let option = |(at, label): (usize, String)| {
            let is_it = move || if self.at.get() == at { "true" } else { "false" };
            view! {
                <li id=line_id(id, at) role="option" aria-selected=is_it on:click=move |_| self.take(at)>
                    {label}
                </li>
            }
        };
        self.it.lines.get().into_iter().enumerate().map(option).collect()
    }
}

fn line_id(id: &str, at: usize) -> String {
    format!("{id}-{at}")
}
