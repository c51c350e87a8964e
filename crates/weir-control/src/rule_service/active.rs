//! Stored rules in the form that a gate uses.

use std::sync::Arc;

use weir_domain::overrides::Overrides;
use weir_domain::rulebook::ActiveRule;
use weir_domain::spread::SpreadBy;
use weir_store::RuleRow;
use weir_wire::overrides::OverrideBody;

use super::exceptions::Exceptions;
use super::stored::{CheckedRule, UnreadableRule, slots};

/// A stored rule, with its own ones of these exceptions.
pub(crate) fn active_rule(
    row: &RuleRow,
    exceptions: &Exceptions,
) -> Result<Arc<ActiveRule>, UnreadableRule> {
    let rule = CheckedRule::stored(row)?.rule.with_slots(&slots(row).taken);
    let mut parsed = Vec::new();
    for stored in exceptions.overrides.iter().filter(|stored| stored.rule_id == row.id) {
        let unreadable = |reason: String| UnreadableRule {
            rule_id: row.id,
            reason: format!("override {}: {reason}", stored.id),
        };
        let body: OverrideBody = serde_json::from_value(stored.spec.clone())
            .map_err(|error| unreadable(error.to_string()))?;
        let body = body.parse(&rule).map_err(|fields| unreadable(format!("{fields:?}")))?;
        parsed.push((stored.id, body, stored.expires_at));
    }
    let overrides = exceptions.of_rule(&rule, Overrides::build(&rule, parsed));
    Ok(Arc::new(ActiveRule::new(row.id, rule, overrides)))
}

/// The attributes by whose values the counters of a stored rule's namespace are spread. They were checked before they were
/// stored.
pub(crate) fn spread_by(row: &RuleRow) -> SpreadBy {
    SpreadBy::parse(row.spread_by.clone()).unwrap_or_default()
}
