//! Passes an unsaved rule from one page to another: from the editor to a what-if run and back.

use leptos::prelude::*;
use weir_wire::rules::RuleBody;

/// The unsaved rule, if there is one; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct DraftTransfer(RwSignal<Option<(Option<String>, RuleBody)>>);

impl DraftTransfer {
    pub fn new() -> Self {
        Self(RwSignal::new(None))
    }

    /// Stores a rule with the id of the one it would replace.
    pub fn put(self, id: Option<String>, rule: RuleBody) {
        self.0.set(Some((id, rule)));
    }

    /// Removes and returns the rule stored for this id, or for a new rule. A rule stored for another id is dropped.
    pub fn take(self, id: Option<&str>) -> Option<RuleBody> {
        let (stored_id, rule) = self.0.try_update_untracked(Option::take).flatten()?;
        (stored_id.as_deref() == id).then_some(rule)
    }
}
