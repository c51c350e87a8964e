//! View state in the URL: it can be shared, and the back and forward buttons restore it.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate, use_query_map};
use leptos_router::params::ParamsMap;

use crate::components::field::Binding;

/// The state that `parse` reads from the URL; setting it replaces the URL's query with that of `query`, which starts
/// with `?`.
pub fn url_state<S: Clone + Send + Sync + 'static>(
    parse: fn(&ParamsMap) -> S,
    query: fn(&S) -> String,
) -> Binding<S> {
    let (url, location, navigate) = (use_query_map(), use_location(), use_navigate());
    let state = RwSignal::new(url.with_untracked(parse));
    // Back, forward, and links that change only the query.
    Effect::new(move |_| state.set(url.with(parse)));
    let set = Callback::new(move |new: S| {
        let address = location.pathname.get_untracked() + &query(&new);
        state.set(new);
        let options =
            NavigateOptions { replace: true, scroll: false, ..NavigateOptions::default() };
        navigate(&address, options);
    });
    Binding { value: state.into(), set }
}
