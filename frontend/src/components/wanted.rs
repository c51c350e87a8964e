//! What of a list is wanted, kept in the address: it can be shared, and back and forward change it.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate, use_query_map};
use leptos_router::params::ParamsMap;

use crate::components::field::Bind;

/// What the address says is wanted; wanting something else changes the address. `query` is what it says, with its `?`.
pub fn by_address<W: Clone + Send + Sync + 'static>(
    of: fn(&ParamsMap) -> W,
    query: fn(&W) -> String,
) -> Bind<W> {
    let (said, location, navigate) = (use_query_map(), use_location(), use_navigate());
    let wanted = RwSignal::new(said.with_untracked(of));
    // Back and forward, and links to other filters.
    Effect::new(move |_| wanted.set(said.with(of)));
    let set = Callback::new(move |new: W| {
        let address = location.pathname.get_untracked() + &query(&new);
        wanted.set(new);
        let options =
            NavigateOptions { replace: true, scroll: false, ..NavigateOptions::default() };
        navigate(&address, options);
    });
    Bind { value: wanted.into(), set }
}
