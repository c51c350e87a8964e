//! The saved views of a table, or the saved runs of a page, in a menu, and the dialog that saves and deletes them. The members
//! of a tenant share them.

use std::collections::BTreeMap;

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate, use_params_map, use_query_map};
use leptos_router::params::ParamsMap;
use weir_wire::problem::ErrorCode;
use weir_wire::tenants::Role;
use weir_wire::views::{SavedView, ViewsAnswer};

use crate::api::{Api, Problem};
use crate::components::control_flow::Show;
use crate::components::dialog::Dialog;
use crate::components::feedback::SubmitProblem;
use crate::components::field::TextField;
use crate::components::menu::{MenuChoice, MenuItem};
use crate::components::require_role::RequireRole;
use crate::components::submit::SubmitAction;
use crate::components::table::RowButton;
use crate::model::saved_views::{has, of_list, problem, put, remove, view_query};

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

/// The views of the tenant that was asked about last, with its id; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct SharedViews(RwSignal<Option<(String, ViewsAnswer)>>);

impl SharedViews {
    pub fn new() -> Self {
        Self(RwSignal::new(None))
    }

    /// All views of a tenant; tracked. Empty until they have loaded.
    fn of(self, tenant: &str) -> Vec<SavedView> {
        self.0.with(|known| {
            let known = known.as_ref().filter(|(of, _)| of == tenant);
            known.map(|(_, answer)| answer.views.clone()).unwrap_or_default()
        })
    }
}

/// The views of a menu; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Views {
    words: &'static ViewWords,
    api: Api,
    shared: SharedViews,
    /// The id of the tenant; empty on pages without one, which have no views.
    tenant: StoredValue<String>,
    /// The name of the list.
    list: StoredValue<String>,
    /// The query of the URL, as views store it.
    query: Memo<BTreeMap<String, String>>,
    /// Whether the dialog is open.
    managed: RwSignal<bool>,
    action: SubmitAction,
    /// Shows a view.
    show: Callback<SavedView>,
}

impl Views {
    /// The views of the list with this name. `shown` is called after the URL has become that of a view.
    pub fn of(name: &str, words: &'static ViewWords, shown: Callback<()>) -> Self {
        let (location, navigate) = (use_location(), use_navigate());
        let tenant = use_params_map().with_untracked(|params| params.get("tenant"));
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
            api: expect_context(),
            shared: expect_context(),
            tenant: StoredValue::new(tenant.unwrap_or_default()),
            list: StoredValue::new(name.to_owned()),
            query,
            managed: RwSignal::new(false),
            action: SubmitAction::new(),
            show: Callback::new(show),
        }
    }

    /// All views of the tenant; tracked.
    fn all(self) -> Vec<SavedView> {
        self.tenant.with_value(|tenant| self.shared.of(tenant))
    }

    /// The views of the list; tracked.
    fn own(self) -> Vec<SavedView> {
        self.list.with_value(|list| of_list(&self.all(), list))
    }

    /// Loads the views, which others can have changed.
    fn load(self) {
        let (api, tenant) = (self.api, self.tenant.get_value());
        let of = tenant.clone();
        self.action.run(async move { api.views(&tenant).await }, move |answer| {
            self.shared.0.set(Some((of, answer)));
        });
    }

    /// Writes changed views. `done` is called once they are stored. If others have written meanwhile, theirs are loaded.
    fn change(self, change: impl FnOnce(&mut Vec<SavedView>, &str), done: impl FnOnce() + 'static) {
        let (api, shared, tenant) = (self.api, self.shared, self.tenant.get_value());
        let known = shared.0.get_untracked().filter(|(of, _)| *of == tenant);
        let Some((_, mut answer)) = known else { return };
        self.list.with_value(|list| change(&mut answer.views, list));
        let work = async move {
            let written = api.set_views(&tenant, answer).await;
            if written.as_ref().is_err_and(is_stale) {
                let others = api.views(&tenant).await?;
                shared.0.set(Some((tenant.clone(), others)));
            }
            written.map(|answer| (tenant, answer))
        };
        self.action.run(work, move |written| {
            shared.0.set(Some(written));
            done();
        });
    }

    /// The entries of the menu.
    pub fn entries(self) -> Vec<AnyView> {
        if self.tenant.with_value(String::is_empty) {
            return Vec::new();
        }
        untrack(|| self.load());
        let views = move || {
            let entry = |view: SavedView| {
                let (name, query) = (view.name.clone(), view.query.clone());
                let chosen = Signal::derive(move || self.query.with(|now| *now == query));
                let show = move |()| self.show.run(view.clone());
                view! { <MenuChoice icon="eye" text=name chosen on_press=show /> }
            };
            self.own().into_iter().map(entry).collect::<Vec<_>>()
        };
        let manage = move |()| self.managed.set(true);
        let text = format!("Save or delete {}s…", self.words.one);
        vec![views.into_any(), view! { <MenuItem icon="pencil" text on_press=manage /> }.into_any()]
    }
}

fn is_stale(problem: &Problem) -> bool {
    problem.code == Some(ErrorCode::Stale)
}

/// Saves the current view under a name, and deletes views.
#[component]
pub fn ManageViews(views: Views) -> impl IntoView {
    if views.tenant.with_value(String::is_empty) {
        return ().into_any();
    }
    let Views { managed: open, action, words: &ViewWords { title, one, hint }, .. } = views;
    let typed = RwSignal::new(String::new());
    let list = move || views.list.get_value();
    let problem = Signal::derive(move || typed.with(|name| problem(&views.all(), &list(), name)));
    let incomplete = move || {
        action.busy.get()
            || typed.with(|name| name.trim().is_empty())
            || problem.with(Option::is_some)
    };
    let replaces = move || typed.with(|name| has(&views.all(), &list(), name));
    let save = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        if !untrack(incomplete) {
            let (name, query) = (typed.get_untracked(), views.query.get_untracked());
            views.change(
                |all, list| put(all, list, &name, query),
                move || {
                    open.try_set(false);
                },
            );
        }
    };
    Effect::new(move |_| {
        open.track();
        typed.set(String::new());
    });
    let row = move |view: SavedView| {
        let (name, label) = (view.name.clone(), format!("Delete the {one} {}", view.name));
        let delete = move |()| views.change(|all, list| remove(all, list, &view.name), || ());
        view! { <li><span class="name">{name}</span><RowButton text="Delete" label disabled=action.busy on_press=delete /></li> }
    };
    let rows = move || views.own().into_iter().map(row).collect::<Vec<_>>();
    let any = move || !views.own().is_empty();
    view! {
        <Dialog title open>
            <form on:submit=save>
                <RequireRole role=Role::Editor>
                    <TextField
                        label=format!("Name of the current {one}")
                        value=typed
                        problem
                        hint
                    />
                    <SubmitProblem problem=action.problem />
                    <div class="actions">
                        <button type="submit" class="button primary" disabled=incomplete>
                            {move || format!("{} {one}", if replaces() { "Replace" } else { "Save" })}
                        </button>
                    </div>
                    <Show when=any><ul class="list views" aria-label=title>{rows}</ul></Show>
                </RequireRole>
                <div class="actions">
                    <button type="button" class="button" on:click=move |_| open.set(false)>"Close"</button>
                </div>
            </form>
        </Dialog>
    }
    .into_any()
}

fn pairs(query: &ParamsMap) -> BTreeMap<String, String> {
    view_query(query.clone().into_iter().map(|(name, value)| (name.into_owned(), value)))
}
