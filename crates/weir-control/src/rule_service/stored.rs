//! Rules in the form of the API and in the form of the store.

use weir_domain::id::RuleId;
use weir_domain::pattern_budget::PatternCost;
use weir_domain::rule::{Rule, Slots};
use weir_http::problem::Problem;
use weir_store::{RuleBody as StoredBody, RuleRow};
use weir_wire::rules::RuleBody;

/// A body and the rule that it describes.
pub(crate) struct CheckedRule {
    pub(crate) body: RuleBody,
    pub(crate) rule: Rule,
}

/// The error of a stored rule or override that this release cannot read.
#[derive(Debug, thiserror::Error)]
#[error("stored rule {rule_id}: {reason}")]
pub(crate) struct UnreadableRule {
    pub(crate) rule_id: RuleId,
    pub(crate) reason: String,
}

impl CheckedRule {
    /// Checks a body. The problem names all errors in it.
    pub(crate) fn new(body: RuleBody) -> Result<Self, Problem> {
        let rule = body.clone().parse().map_err(Problem::invalid)?;
        Ok(Self { body, rule })
    }

    /// Reads a stored rule, which was checked before it was stored.
    pub(crate) fn stored(row: &RuleRow) -> Result<Self, UnreadableRule> {
        let unreadable = |reason| UnreadableRule { rule_id: row.id, reason };
        let body: RuleBody = serde_json::from_value(row.spec.clone())
            .map_err(|error| unreadable(error.to_string()))?;
        Self::new(body).map_err(|problem| unreadable(format!("{:?}", problem.body("").fields)))
    }

    /// The columns of the rule, with these slots.
    pub(crate) fn to_stored(&self, slots: &Slots) -> Result<StoredBody, Problem> {
        Ok(StoredBody {
            namespace: self.body.namespace.clone(),
            name: self.body.name.clone(),
            spec: serde_json::to_value(&self.body).map_err(Problem::internal)?,
            slots: slots.taken.iter().map(|slot| u32::from(*slot)).collect(),
            next_slot: slots.next.into(),
            patterns: PatternCost::of(&self.rule),
        })
    }
}

/// The slots of a stored rule.
pub(crate) fn slots(row: &RuleRow) -> Slots {
    let narrow = |slot: u32| u16::try_from(slot).unwrap_or(u16::MAX);
    Slots { taken: row.slots.iter().copied().map(narrow).collect(), next: narrow(row.next_slot) }
}
