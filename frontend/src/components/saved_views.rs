//! The saved views of a table, or the saved runs of a page, in a menu, and the dialog that saves and deletes them. The browser
//! stores them for each tenant and menu.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate, use_params_map, use_query_map};
use leptos_router::params::ParamsMap;

use crate::browser;
use crate::components::control_flow::Show;
use crate::components::dialog::Dialog;
use crate::components::field::TextField;
use crate::components::menu::{MenuChoice, MenuItem};
use crate::components::table::RowButton;
use crate::model::saved_views::{SavedView, SavedViews, view_query};

/// The name of the saved things.
#[derive(Debug, Clone, Copy)]
pub struct ViewWords {
    /// The title of the dialog.
    pub title: &'static str,
    /// One of them.
    pub one: &'static str,
    /// The content of one of them.
    pub hint: &'static str,
}

/// The views of a menu; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Views {
    words: ViewWords,
    saved: RwSignal<SavedViews>,
    /// The key in the browser's storage.
    key: StoredValue<String>,
    /// The query of the URL, as views store it.
    query: Memo<Vec<(String, String)>>,
    /// Whether the dialog is open.
    managed: RwSignal<bool>,
    /// Shows a view.
    show: Callback<SavedView>,
}

impl Views {
    /// The views that are stored under this name. `shown` is called after the URL has become that of a view.
    pub fn of(name: &str, words: ViewWords, shown: Callback<()>) -> Self {
        let (location, navigate) = (use_location(), use_navigate());
        let tenant = use_params_map().with_untracked(|params| params.get("tenant"));
        let key = format!("weir.views.{}.{name}", tenant.unwrap_or_default());
        let stored = browser::stored(&key).unwrap_or_default();
        let url = use_query_map();
        let query = Memo::new(move |_| url.with(pairs));
        let show = move |view: SavedView| {
            let parameters: ParamsMap = view.query.into_iter().collect();
            let path = location.pathname.get_untracked();
            let options = NavigateOptions { scroll: false, ..NavigateOptions::default() };
            navigate(&format!("{path}{}", parameters.to_query_string()), options);
            shown.run(());
        };
        Self {
            words,
            saved: RwSignal::new(SavedViews::parse(&stored)),
            key: StoredValue::new(key),
            query,
            managed: RwSignal::new(false),
            show: Callback::new(show),
        }
    }

    /// Changes the views, and stores them.
    fn change(self, change: impl FnOnce(&mut SavedViews)) {
        self.saved.update(change);
        let text = self.saved.with_untracked(SavedViews::text);
        self.key.with_value(|key| browser::store(key, &text));
    }

    /// The entries of the menu.
    pub fn entries(self) -> Vec<AnyView> {
        let entry = |view: SavedView| {
            let (name, query) = (view.name.clone(), view.query.clone());
            let chosen = Signal::derive(move || self.query.with(|now| *now == query));
            let show = move |()| self.show.run(view.clone());
            view! { <MenuChoice icon="eye" text=name chosen on_press=show /> }.into_any()
        };
        let manage = move |()| self.managed.set(true);
        let mut entries: Vec<_> = self.saved.get().all().iter().cloned().map(entry).collect();
        entries.push(
            view! {
                <MenuItem icon="pencil" text=format!("Save or delete {}s…", self.words.one) on_press=manage />
            }
            .into_any(),
        );
        entries
    }
}

/// Saves the current view under a name, and deletes views.
#[component]
pub fn ManageViews(views: Views) -> impl IntoView {
    let Views { saved, managed: open, words: ViewWords { title, one, hint }, .. } = views;
    let typed = RwSignal::new(String::new());
    let problem =
        Signal::derive(move || typed.with(|name| saved.with(|saved| saved.problem(name))));
    let incomplete =
        move || typed.with(|name| name.trim().is_empty()) || problem.with(Option::is_some);
    let replaces = move || typed.with(|name| saved.with(|saved| saved.has(name.trim())));
    let save = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        if !untrack(incomplete) {
            let query = views.query.get_untracked();
            views.change(|saved| saved.put(&typed.get_untracked(), query));
            typed.set(String::new());
            open.set(false);
        }
    };
    Effect::new(move |_| {
        open.track();
        typed.set(String::new());
    });
    let row = move |view: SavedView| {
        let (name, label) = (view.name.clone(), format!("Delete the {one} {}", view.name));
        let delete = move |()| views.change(|saved| saved.remove(&view.name));
        view! { <li><span class="name">{name}</span><RowButton text="Delete" label on_press=delete /></li> }
    };
    let rows = move || saved.get().all().iter().cloned().map(row).collect::<Vec<_>>();
    let any = move || saved.with(|saved| !saved.all().is_empty());
    view! {
        <Dialog title open>
            <form on:submit=save>
                <TextField
                    label=format!("Name of the current {one}")
                    value=typed
                    problem
                    hint
                />
                <div class="actions">
                    <button type="submit" class="button primary" disabled=incomplete>
                        {move || format!("{} {one}", if replaces() { "Replace" } else { "Save" })}
                    </button>
                    <button type="button" class="button" on:click=move |_| open.set(false)>"Close"</button>
                </div>
                <Show when=any><ul class="list views" aria-label=title>{rows}</ul></Show>
            </form>
        </Dialog>
    }
}

fn pairs(query: &ParamsMap) -> Vec<(String, String)> {
    view_query(query.clone().into_iter().map(|(name, value)| (name.into_owned(), value)))
}
