//! Single keys that work on every page, and the dialog that lists the keys.

use leptos::prelude::*;

use crate::browser;
use crate::components::dialog::Dialog;
use crate::components::field::{Binding, Checkbox};

/// Whether the list of keys is open, for the menu that opens it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShortcutsOpen(pub(super) RwSignal<bool>);

/// Handles the keys of every page. The data tables handle theirs.
#[component]
pub(super) fn Shortcuts(
    open: RwSignal<bool>,
    /// Whether the command palette is open.
    searching: RwSignal<bool>,
) -> impl IntoView {
    let listener = window_event_listener(leptos::ev::keydown, move |event| {
        let Some(key) = browser::page_key(&event) else { return };
        match key.as_str() {
            "?" => open.set(true),
            "/" => match browser::find(FILTER) {
                Some(filter) => drop(filter.focus()),
                None => searching.set(true),
            },
            "c" => match browser::find(MAIN_ACTION) {
                Some(action) => action.click(),
                None => return,
            },
            _ => return,
        }
        event.prevent_default();
    });
    on_cleanup(move || listener.remove());
    let on = RwSignal::new(browser::page_keys_on());
    let set = Callback::new(move |chosen| {
        browser::switch_page_keys(chosen);
        on.set(chosen);
    });
    let line = |(meaning, keys): (&'static str, &'static [&'static str])| {
        let keys: Vec<_> = keys.iter().map(|key| view! { <kbd>{*key}</kbd>" " }).collect();
        view! { <div><dt>{meaning}</dt><dd>{keys}</dd></div> }
    };
    view! {
        <Dialog title="Keyboard shortcuts" open>
            <div class="stack">
                <dl class="shortcuts">{KEYS.map(line)}</dl>
                <Checkbox label="Use single keys as shortcuts" value=Binding { value: on.into(), set } />
                <div class="actions">
                    <button type="button" class="button" on:click=move |_| open.set(false)>"Close"</button>
                </div>
            </div>
        </Dialog>
    }
}

const FILTER: &str = "main input[type=search]";
const MAIN_ACTION: &str = "main header.page-head .primary";

/// The meaning of each key, with the key.
const KEYS: [(&str, &[&str]); 8] = [
    ("Search or jump to a page", &["Ctrl", "K"]),
    ("Filter the page, or search", &["/"]),
    ("Main action of the page, such as New rule", &["c"]),
    ("Next row of a table", &["j"]),
    ("Previous row of a table", &["k"]),
    ("Select the row", &["x"]),
    ("Publish a reviewed rule", &["Ctrl", "Enter"]),
    ("This list", &["?"]),
];
