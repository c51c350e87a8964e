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
    let change = change_url(move |url| state.set(parse(url)));
    let set = Callback::new(move |new: S| {
        let parameters = write(&new);
        state.set(new);
        change.run((names, parameters));
    });
    Binding { value: state.into(), set }
}

/// One parameter of the URL.
pub fn url_text(name: &'static [&'static str; 1]) -> Binding<String> {
    let url = use_query_map();
    let [name_of_one] = *name;
    let read = move |url: &ParamsMap| url.get(name_of_one).unwrap_or_default();
    let state = RwSignal::new(url.with_untracked(read));
    let change = change_url(move |url| state.set(read(url)));
    let set = Callback::new(move |text: String| {
        state.set(text.clone());
        change.run((name.as_slice(), vec![(name_of_one, text)]));
    });
    Binding { value: state.into(), set }
}

/// Replaces parameters of the URL's query. Changes made at once become one navigation. `follow` gets each query that others ask for:
/// back, forward, and links that change only the query.
fn change_url(
    follow: impl Fn(&ParamsMap) + 'static,
) -> Callback<(&'static [&'static str], Parameters)> {
    let (url, location, navigate) = (use_query_map(), use_location(), use_navigate());
    let asked = use_context::<AskedQueries>().unwrap_or_else(AskedQueries::new);
    Effect::new(move |_| {
        url.with(|query| {
            if asked.is_latest(query) {
                follow(query);
            }
        });
    });
    Callback::new(move |(names, parameters): (&'static [&'static str], Parameters)| {
        let mut query = asked.latest().unwrap_or_else(|| url.get_untracked());
        for name in names {
            query.remove(name);
        }
        for (name, value) in parameters.into_iter().filter(|(_, value)| !value.is_empty()) {
            query.insert(name, value);
        }
        if !asked.ask(query) {
            return;
        }
        let (navigate, path) = (navigate.clone(), location.pathname.get_untracked());
        queue_microtask(move || {
            let Some(query) = asked.take() else { return };
            let address = format!("{path}{}", query.to_query_string());
            let options =
                NavigateOptions { replace: true, scroll: false, ..NavigateOptions::default() };
            navigate(&address, options);
        });
    })
}

/// The queries that the states of a page asked for. The router reports each of them later, and states that follow an earlier one would
/// lose what was set since; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct AskedQueries {
    /// The one that is about to be given to the router.
    pending: StoredValue<Option<ParamsMap>>,
    /// Those that were given to the router, from the one that it reported last.
    given: StoredValue<Vec<ParamsMap>>,
}

impl AskedQueries {
    pub fn new() -> Self {
        Self { pending: StoredValue::new(None), given: StoredValue::new(Vec::new()) }
    }

    /// The last query of all.
    fn latest(self) -> Option<ParamsMap> {
        let given = || self.given.with_value(|given| given.last().cloned());
        self.pending.get_value().or_else(given)
    }

    /// Returns whether no other was pending.
    fn ask(self, query: ParamsMap) -> bool {
        let before = self.pending.try_update_value(|pending| pending.replace(query));
        before.flatten().is_none()
    }

    fn take(self) -> Option<ParamsMap> {
        let query = self.pending.try_update_value(Option::take).flatten()?;
        self.given.update_value(|given| given.push(query.clone()));
        Some(query)
    }

    /// Whether no query is asked for after this one, which the router reports.
    fn is_latest(self, reported: &ParamsMap) -> bool {
        let is_last = self.given.try_update_value(|given| {
            // One that no state asked for ends what they did.
            let at = given.iter().position(|query| query == reported).unwrap_or(given.len());
            given.drain(..at);
            given.len() <= 1
        });
        is_last.unwrap_or(true) && self.pending.with_value(Option::is_none)
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
