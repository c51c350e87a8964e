//! A rule as gates serve it.

use std::sync::Arc;

use crate::customers::Customers;
use crate::id::RuleId;
use crate::overrides::Overrides;
use crate::rule::Rule;

/// A rule with its id and overrides.
#[derive(Debug)]
pub struct ActiveRule {
    /// The id of the rule.
    pub id: RuleId,
    /// The rule.
    pub rule: Rule,
    /// Other limits for single subjects.
    pub overrides: Overrides,
    /// The number of the rule's revision. `None` if it is unknown.
    pub revision: Option<u64>,
    /// The id as answers write it, shared by all answers.
    id_text: Arc<str>,
}

impl ActiveRule {
    /// A rule in force.
    pub fn new(id: RuleId, rule: Rule, overrides: Overrides) -> Self {
        let id_text = id.to_string().into();
        Self { id, rule, overrides, revision: None, id_text }
    }

    /// The same with the number of the rule's revision.
    #[must_use]
    pub fn with_revision(self, revision: Option<u64>) -> Self {
        Self { revision, ..self }
    }

    /// The same with other assignments of customers. `None` if they are those of now, or no plan names the rule.
    pub(super) fn with_customers(&self, customers: &Arc<Customers>) -> Option<Self> {
        let overrides = self.overrides.with_customers(customers)?;
        let rule = self.rule.clone();
        let id_text = Arc::clone(&self.id_text);
        Some(Self { rule, overrides, id_text, ..*self })
    }

    /// The name of the rule.
    pub fn name(&self) -> &Arc<str> {
        &self.rule.name
    }

    /// The id as text.
    pub fn id_text(&self) -> &Arc<str> {
        &self.id_text
    }
}
