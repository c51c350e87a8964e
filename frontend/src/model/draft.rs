//! The unsaved input of the rule editor, as the tab retains it until it is published or discarded.

use serde::{Deserialize, Serialize};

use crate::model::json;
use crate::model::rule_form::RuleForm;

/// The input, and the revision that it changes; `None` for a new rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    pub revision: Option<u64>,
    pub form: RuleForm,
}

impl Draft {
    /// The name under which the draft of a rule, or of a new rule, is retained.
    pub fn key(tenant: &str, rule_id: Option<&str>) -> String {
        format!("weir-draft/{tenant}/{}", rule_id.unwrap_or("new"))
    }

    /// The draft in a text; `None` if another release wrote it.
    pub fn of(text: &str) -> Option<Self> {
        json::read(text).ok()
    }

    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use weir_domain::quantity::Unit;

    use super::*;

    #[test]
    fn drafts_retain_input_that_is_no_valid_rule() {
        let mut form = RuleForm::new();
        form.add_condition();
        "Not a name".clone_into(&mut form.name);
        "many".clone_into(&mut form.limits[0].units);
        form.limits[0].window.unit = Unit::Hours;
        let draft = Draft { revision: Some(3), form };
        assert_eq!(Draft::of(&draft.text()), Some(draft));
        assert_eq!(Draft::of("{}"), None);
    }
}
