//! The facets of live denials, with the count of each value.

use leptos::prelude::*;
use weir_wire::stats::DenialEntry;

use crate::components::control_flow::Show;
use crate::model::live_filter::{Facet, LiveFilter};
use crate::model::number::compact;

#[component]
pub(super) fn Facets(
    filter: RwSignal<LiveFilter>,
    denials: RwSignal<Vec<DenialEntry>>,
) -> impl IntoView {
    let group = move |facet: Facet| {
        let counts = Memo::new(move |_| {
            filter.with(|filter| denials.with(|denials| filter.counts(facet, denials)))
        });
        let values = move || {
            let item = |(value, count)| view! { <Value facet value count filter /> };
            counts.get().into_iter().take(SHOWN_MAX).map(item).collect::<Vec<_>>()
        };
        view! {
            <Show when=move || !counts.with(Vec::is_empty)>
                <div role="group" aria-label=facet.title()>
                    <h2>{facet.title()}</h2>
                    {values}
                </div>
            </Show>
        }
    };
    view! { <div class="facets">{Facet::ALL.map(group)}</div> }
}

/// A value; a click shows only the denials with it, or all again.
#[component]
fn Value(facet: Facet, value: String, count: u64, filter: RwSignal<LiveFilter>) -> impl IntoView {
    let name = StoredValue::new(value.clone());
    let chosen =
        move || name.with_value(|name| filter.with(|filter| filter.is_chosen(facet, name)));
    let choose = move |_| filter.update(|filter| filter.toggle(facet, name.get_value()));
    view! {
        <button type="button" class="facet" aria-pressed=move || chosen().to_string() on:click=choose>
            <span>{value}</span><span class="muted">{compact(count)}</span>
        </button>
    }
}

/// The most values of a facet.
const SHOWN_MAX: usize = 12;
