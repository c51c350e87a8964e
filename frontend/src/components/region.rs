//! The regions of the installation, of which pages show nothing if there are none.

use std::collections::BTreeSet;

use leptos::prelude::*;

use crate::components::control_flow::Show;
use crate::components::field::Binding;
use crate::components::namespace::name_picker;
use crate::components::url_state::url_text;

/// The names of the regions; empty without regions, and until they have loaded. Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct KnownRegions(pub RwSignal<BTreeSet<String>>);

impl KnownRegions {
    /// Replaces the names, which are read again and again.
    pub fn set(self, names: Vec<String>) {
        let names = names.into_iter().collect();
        self.0.maybe_update(|known| {
            let is_new = *known != names;
            *known = names;
            is_new
        });
    }
}

/// States what a page shows of all regions although one is chosen.
#[component]
pub fn OfRegion(region: Signal<String>) -> impl IntoView {
    view! {
        <Show when=move || !region.with(String::is_empty)>
            <p class="note">"Counts and charts are of one region; subjects, denials, events and the rate now are of all."</p>
        </Show>
    }
}

/// The region in the URL; empty for all.
pub fn region_in_url() -> Binding<String> {
    url_text(&["region"])
}

/// A select of the regions; nothing without regions, unless the URL names one.
#[component]
pub fn RegionPicker(
    region: Binding<String>,
    #[prop(into)] known: Signal<BTreeSet<String>>,
) -> impl IntoView {
    let shown = move || !known.with(BTreeSet::is_empty) || !region.value.with(String::is_empty);
    view! { <Show when=shown>{name_picker("Region", "All regions", region, known)}</Show> }
}
