//! The state that the parts of the page share.

use leptos::prelude::*;
use weir_wire::overrides::OverrideAnswer;

use crate::api::OverrideSearch;
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
    /// The namespace of the rules; empty for any.
    pub(super) namespace: Binding<String>,
}

impl OverrideFilter {
    /// The overrides to return; tracked.
    pub(super) fn search(self) -> OverrideSearch {
        OverrideSearch {
            subject: self.typed.value.get(),
            rule_id: self.rule.value.get(),
            namespace: self.namespace.value.get(),
        }
    }

    /// Shows all overrides.
    pub(super) fn clear(self) {
        for part in [self.typed, self.rule, self.namespace] {
            part.set.run(String::new());
        }
    }
}
