//! View state in the URL: it can be shared, and the back and forward buttons restore it.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate, use_query_map};
use leptos_router::params::ParamsMap;

use crate::components::field::Binding;

/// The URL parameters of a state, by name.
pub type Parameters = Vec<(&'static str, String)>;

/// The state that `parse` reads from the URL. Setting it replaces the parameters `names` by those of `write`, and leaves the
/// others as they are.
pub fn url_state<S: Clone + Send + Sync + 'static>(
    names: &'static [&'static str],
    parse: fn(&ParamsMap) -> S,
    write: fn(&S) -> Parameters,
) -> Binding<S> {
    let url = use_query_map();
    let state = RwSignal::new(url.with_untracked(parse));
    // Back, forward, and links that change only the query.
    Effect::new(move |_| state.set(url.with(parse)));
    let change = change_url();
    let set = Callback::new(move |new: S| {
        let parameters = write(&new);
        state.set(new);
        change.run((names, parameters));
    });
    Binding { value: state.into(), set }
}

/// One parameter of the URL.
pub fn url_text(name: &'static [&'static str; 1]) -> Binding<String> {
    let (url, change) = (use_query_map(), change_url());
    let [name_of_one] = *name;
    let read = move |url: &ParamsMap| url.get(name_of_one).unwrap_or_default();
    let state = RwSignal::new(url.with_untracked(read));
    Effect::new(move |_| state.set(url.with(read)));
    let set = Callback::new(move |text: String| {
        state.set(text.clone());
        change.run((name.as_slice(), vec![(name_of_one, text)]));
    });
    Binding { value: state.into(), set }
}

/// Replaces parameters of the URL's query. Changes made at once become one navigation, because the router reports the
/// new query later.
fn change_url() -> Callback<(&'static [&'static str], Parameters)> {
    let (query, location, navigate) = (use_query_map(), use_location(), use_navigate());
    let pending = StoredValue::new(None::<ParamsMap>);
    let pending = use_context::<PendingQuery>().map_or(pending, |shared| shared.0);
    Callback::new(move |(names, parameters): (&'static [&'static str], Parameters)| {
        let waiting = pending.get_value();
        let is_first = waiting.is_none();
        let mut query = waiting.unwrap_or_else(|| query.get_untracked());
        for name in names {
            query.remove(name);
        }
        for (name, value) in parameters.into_iter().filter(|(_, value)| !value.is_empty()) {
            query.insert(name, value);
        }
        pending.set_value(Some(query));
        if !is_first {
            return;
        }
        let (navigate, path) = (navigate.clone(), location.pathname.get_untracked());
        queue_microtask(move || {
            let Some(query) = pending.try_update_value(Option::take).flatten() else { return };
            let address = format!("{path}{}", query.to_query_string());
            let options =
                NavigateOptions { replace: true, scroll: false, ..NavigateOptions::default() };
            navigate(&address, options);
        });
    })
}

/// The query that is about to become the URL's, shared by all states of a page; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct PendingQuery(StoredValue<Option<ParamsMap>>);

impl PendingQuery {
    pub fn new() -> Self {
        Self(StoredValue::new(None))
    }
}

/// Whether the URL asks for this form to be open, as links of the command palette do. The form can also open and close
/// without a change of the URL.
pub fn open_from_url(form: &'static str) -> RwSignal<bool> {
    let url = use_query_map();
    let asked = move || url.with(|url| url.get("new").is_some_and(|asked| asked == form));
    let open = RwSignal::new(untrack(asked));
    Effect::new(move |_| {
        if asked() {
            open.set(true);
        }
    });
    open
}
