//! The state that the parts of the page share.

use weir_wire::overrides::OverrideAnswer;

use crate::components::field::Binding;

/// The form over the list.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum OpenForm {
    Nothing,
    New,
    Edit(Box<OverrideAnswer>),
    Import,
    Reset,
}

impl OpenForm {
    pub(super) const fn title(&self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::New => "New override",
            Self::Edit(_) => "Edit override",
            Self::Import => "Import CSV",
            Self::Reset => "Reset counters",
        }
    }
}

/// The filter of the list, stored in the URL; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct OverrideFilter {
    /// A text in the subject.
    pub(super) typed: Binding<String>,
    /// The id of a rule; empty for any.
    pub(super) rule: Binding<String>,
}
