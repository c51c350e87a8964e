//! The theme and the density of rows. `theme.js` applies the stored values before this program runs.

use leptos::prelude::*;

use crate::browser;

/// A stored choice about the appearance; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Appearance {
    /// The name in the local storage, below `weir.`, and of the attribute of the document.
    name: &'static str,
    default: &'static str,
    chosen: RwSignal<String>,
}

impl Appearance {
    /// `system`, `light` or `dark`.
    pub fn theme() -> Self {
        Self::stored("theme", "system")
    }

    /// `comfortable` or `compact`; the dashboard has one, in its context.
    pub fn density() -> Self {
        Self::stored("density", "comfortable")
    }

    fn stored(name: &'static str, default: &'static str) -> Self {
        let chosen = browser::stored(&format!("weir.{name}"));
        Self { name, default, chosen: RwSignal::new(chosen.unwrap_or_else(|| default.to_owned())) }
    }

    /// The choice; tracked.
    pub fn get(self) -> String {
        self.chosen.get()
    }

    /// Stores and applies a choice.
    pub fn set(self, value: &str) {
        browser::store(&format!("weir.{}", self.name), value);
        let marked = Some(value).filter(|value| *value != self.default);
        browser::mark_document(&format!("data-{}", self.name), marked);
        self.chosen.set(value.to_owned());
    }
}
