//! Rules of a tenant.

use serde_json::json;
use weir_domain::{approximation, warnings};
use weir_http::problem::Problem;
use weir_store::RuleRow;
use weir_wire::rules::{RuleAnswer, RuleBody};

use crate::rule_service::{CheckedRule, UnreadableRule, slots};

pub(crate) mod delete;
mod kind;
pub(crate) mod list;
pub(crate) mod read;
pub(crate) mod segments;
pub(crate) mod write;

/// A rule in JSON after an edit of `before`, with the warnings about the edit too.
fn edited_answer(before: &RuleRow, row: &RuleRow) -> Result<RuleAnswer, Problem> {
    let mut answer = rule_answer(row)?;
    answer.warnings.extend(edit_warnings(before, row));
    Ok(answer)
}

/// The warnings about the edit of a rule that was stored as `before`. None if one of both is unreadable.
pub(crate) fn edit_warnings(before: &RuleRow, after: &RuleRow) -> Vec<String> {
    let rule = |row: &RuleRow| {
        let CheckedRule { rule, .. } = CheckedRule::stored(row).ok()?;
        Some(rule.with_slots(&slots(row).taken))
    };
    let both = rule(before).zip(rule(after));
    both.map_or_else(Vec::new, |(before, after)| warnings::of_edit(&before, &after))
}

/// A rule in JSON, with its warnings and its bound. An unreadable rule is shown as far as possible, so that people can find, revert and
/// delete it.
pub(crate) fn rule_answer(row: &RuleRow) -> Result<RuleAnswer, Problem> {
    let (body, warnings, bound, unreadable) = match CheckedRule::stored(row) {
        Ok(CheckedRule { body, rule }) => {
            let bound = approximation::bound(rule.consistency(), rule.limits());
            (body, warnings::of_rule(&rule), bound, None)
        }
        Err(UnreadableRule { reason, .. }) => {
            let missing = || Problem::internal(format!("stored rule {} has no name", row.id));
            let named = json!({ "name": row.name, "namespace": row.namespace });
            let body = RuleBody::readable_part(&row.spec)
                .or_else(|| RuleBody::readable_part(&named))
                .ok_or_else(missing)?;
            (body, Vec::new(), None, Some(reason))
        }
    };
    Ok(RuleAnswer {
        id: row.id.to_string(),
        rule: body,
        revision: row.revision,
        rulebook_version: row.rulebook_version,
        created_at: row.created_at.into(),
        updated_at: row.updated_at.into(),
        overrides: None,
        changed_by: None,
        managed_by: row.managed_by.clone(),
        edited: row.edited,
        warnings,
        bound,
        unreadable,
    })
}
