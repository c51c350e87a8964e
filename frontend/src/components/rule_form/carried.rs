//! A rule on its way from one page to another, not saved anywhere: from the editor to a what-if run and back.

use leptos::prelude::*;
use weir_wire::rules::RuleBody;

/// What is on its way; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Carried(RwSignal<Option<(Option<String>, RuleBody)>>);

impl Carried {
    /// Nothing.
    pub fn new() -> Self {
        Self(RwSignal::new(None))
    }

    /// Takes a rule along, with the id of the one it would replace.
    pub fn put(self, id: Option<String>, rule: RuleBody) {
        self.0.set(Some((id, rule)));
    }

    /// What was taken along for this rule, or for a new one. Whoever takes it has it; another rule's is dropped.
    pub fn take(self, id: Option<&str>) -> Option<RuleBody> {
        let (of, rule) = self.0.try_update_untracked(Option::take).flatten()?;
        (of.as_deref() == id).then_some(rule)
    }
}
