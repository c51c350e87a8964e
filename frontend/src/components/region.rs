//! The regions of the installation, of which pages show nothing if there are none.

use std::collections::BTreeSet;

use leptos::prelude::*;

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
