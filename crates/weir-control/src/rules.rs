//! Rules of a tenant.

use serde_json::json;
use weir_domain::ceilings::Ceiling;
use weir_domain::id::RuleId;
use weir_domain::matching::LIMITS_PER_CHECK_MAX;
use weir_domain::pattern_budget::PatternCost;
use weir_domain::rule::Rule;
use weir_domain::{approximation, warnings};
use weir_http::problem::Problem;
use weir_store::{OtherRules, RuleRow};
use weir_wire::rules::{RuleAnswer, RuleBody};

use crate::change::Change;
use crate::error::ControlError;
use crate::namespaces;
use crate::rule_service::{CheckedRule, UnreadableRule, slots};

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod read;
pub(crate) mod revert;
pub(crate) mod revisions;
pub(crate) mod segments;
pub(crate) mod update;

/// The rules beside one that is written into its namespace.
async fn others(
    change: &mut Change,
    rule_id: RuleId,
    checked: &CheckedRule,
) -> Result<OtherRules, ControlError> {
    let tenant_id = change.caller.tenant_id;
    Ok(change.tx.rules().others(tenant_id, checked.rule.namespace(), rule_id).await?)
}

/// Refuses a rule that the other rules leave no room for: its limits, its regular expressions, or the place of its counters.
/// `before` is the rule before the edit. Changes of a tenant wait for each other, so two of them cannot exceed a bound together.
fn fit(
    change: &Change,
    others: &OtherRules,
    before: Option<&CheckedRule>,
    checked: &CheckedRule,
) -> Result<(), ControlError> {
    let rule = &checked.rule;
    met_together(change, others, before.map(|before| &before.rule), rule)?;
    namespaces::admit_rule(&others.spread_by, rule)?;
    let cost = PatternCost::of(rule);
    if cost.patterns == 0 {
        return Ok(());
    }
    let in_tenant = others.patterns_in_tenant;
    let in_namespace = others.patterns_in_namespace;
    PatternCost::check(in_tenant.plus(cost), in_namespace.plus(cost))
        .map_err(|over| Problem::invalid_field("match", over.to_string()).into())
}

/// Checks that the rules without conditions of a namespace have at most as many limits as the tenant's ceiling of limits for
/// each check; enforced and shadow rules count together. The ceiling is [`LIMITS_PER_CHECK_MAX`] or less. An edit that does not
/// add limits is admitted.
fn met_together(
    change: &Change,
    others: &OtherRules,
    before: Option<&Rule>,
    after: &Rule,
) -> Result<(), ControlError> {
    let own = after.unconditional_limits();
    let before = before.filter(|before| before.namespace() == after.namespace());
    if own <= before.map_or(0, Rule::unconditional_limits) {
        return Ok(());
    }
    let most = change.ceilings.get(Ceiling::LimitsPerCheck).min(LIMITS_PER_CHECK_MAX as u64);
    let together = others.unconditional_limits + own as u64;
    if together <= most {
        return Ok(());
    }
    let reason = format!(
        "brings the rules without conditions of this namespace to {together} limits, which every request would meet together; the most is {most}"
    );
    Err(Problem::invalid_field("limits", reason).into())
}

/// A rule in JSON after an edit of `before`, with the warnings about the edit too.
pub(crate) fn edited_answer(before: &RuleRow, row: &RuleRow) -> Result<RuleAnswer, Problem> {
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
