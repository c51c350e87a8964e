//! Suggestions for attributes and their values.

use leptos::prelude::*;

use crate::model::seen::KnownAttributes;

/// The attributes that gates have seen; loaded when a field first asks for it. Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct SeenAttributes {
    pub seen: RwSignal<KnownAttributes>,
    /// Whether a field has asked.
    pub wanted: RwSignal<bool>,
}

impl SeenAttributes {
    pub fn new() -> Self {
        Self { seen: RwSignal::new(KnownAttributes::default()), wanted: RwSignal::new(false) }
    }

    /// The names of attributes.
    pub fn names(self) -> Signal<Vec<String>> {
        self.ask();
        Signal::derive(move || self.seen.with(KnownAttributes::names))
    }

    /// The values of an attribute.
    pub fn values(
        self,
        attribute: impl Fn() -> String + Send + Sync + 'static,
    ) -> Signal<Vec<String>> {
        self.ask();
        Signal::derive(move || self.seen.with(|seen| seen.values(attribute().trim())))
    }

    fn ask(self) {
        if !self.wanted.get_untracked() {
            self.wanted.set(true);
        }
    }
}
