//! The state that the parts of the page share.

use leptos::prelude::*;
use weir_wire::overrides::OverrideAnswer;

/// The form above the list.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum OpenForm {
    Nothing,
    New,
    Edit(Box<OverrideAnswer>),
    Import,
    Reset,
}

/// The filter of the list; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct OverrideFilter {
    /// A text in the subject.
    pub(super) typed: RwSignal<String>,
    /// The id of a rule; empty for any.
    pub(super) rule: RwSignal<String>,
}
