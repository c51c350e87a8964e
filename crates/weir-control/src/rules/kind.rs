//! Rules as one of the kinds of `specs`: their bounds, and the counter slots of their limits.

use weir_domain::ceilings::Ceiling;
use weir_domain::id::RuleId;
use weir_domain::matching::LIMITS_PER_CHECK_MAX;
use weir_domain::pattern_budget::PatternCost;
use weir_domain::rule::{Rule, carry_slots};
use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_store::{OtherRules, OverrideFilter, Page, RuleBody as StoredBody, RuleRow, RuleSpec, Tx};
use weir_wire::problem::ErrorCode;
use weir_wire::rules::{RuleAnswer, RuleBody};

use crate::actor::Caller;
use crate::ceilings;
use crate::change::Change;
use crate::error::ControlError;
use crate::namespaces;
use crate::plans;
use crate::rule_service::{CheckedRule, slots};
use crate::rules::{edited_answer, rule_answer};
use crate::specs::{Authored, Kind};

impl Kind for RuleSpec {
    const WORD: &'static str = "rule";
    const ID: fn(Timestamp, u128) -> RuleId = RuleId::new;
    type Answer = RuleAnswer;

    async fn admit(_: &mut Tx, caller: &Caller, row: &RuleRow) -> Result<(), ControlError> {
        Ok(caller.namespaces.admit(&row.namespace)?)
    }

    fn answer(row: &RuleRow) -> Result<RuleAnswer, Problem> {
        rule_answer(row)
    }
}

impl Authored for RuleSpec {
    type Wire = RuleBody;
    type Checked = CheckedRule;

    fn check(body: RuleBody) -> Result<CheckedRule, Problem> {
        CheckedRule::new(body)
    }

    fn namespace(checked: &CheckedRule) -> &str {
        &checked.body.namespace
    }

    async fn new_body(
        change: &mut Change,
        id: RuleId,
        checked: &CheckedRule,
    ) -> Result<StoredBody, ControlError> {
        let others = others(change, id, checked).await?;
        room(change, &others)?;
        fit(change, &others, None, checked)?;
        Ok(checked.to_stored(&checked.rule.first_slots())?)
    }

    async fn edited_body(
        change: &mut Change,
        before: &RuleRow,
        checked: &CheckedRule,
    ) -> Result<StoredBody, ControlError> {
        // The attributes by which an unreadable rule counts are unknown, so the new rule does not reuse its counters.
        let old = CheckedRule::stored(before).ok();
        if old.as_ref().map(|old| old.rule.count_by()) != Some(checked.rule.count_by()) {
            no_overrides(change, before.id).await?;
        }
        let others = others(change, before.id, checked).await?;
        if before.namespace != checked.body.namespace {
            room_in_namespace(change, &others)?;
        }
        fit(change, &others, old.as_ref(), checked)?;
        plans::admit_edit(change, (&before.namespace, &before.name), Some(&checked.rule)).await?;
        let slots = match old {
            Some(old) => checked
                .rule
                .slots_after(&old.rule, &slots(before))
                .map_err(|problem| Problem::invalid_field(problem.field, problem.reason))?,
            None => carry_slots(&[], checked.rule.limits(), slots(before).next),
        };
        Ok(checked.to_stored(&slots)?)
    }

    fn edited_answer(before: &RuleRow, row: &RuleRow) -> Result<RuleAnswer, Problem> {
        edited_answer(before, row)
    }
}

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

/// Refuses a rule above the bounds. Changes of a tenant wait for each other.
fn room(change: &Change, others: &OtherRules) -> Result<(), ControlError> {
    room_in_namespace(change, others)?;
    if others.in_tenant >= change.settings().rules_per_tenant_max {
        let full = format!("the tenant has {} rules, which is the most", others.in_tenant);
        return Err(Problem::new(ErrorCode::Conflict, full).into());
    }
    let ceiling = change.ceilings.get(Ceiling::Rules);
    if others.in_tenant >= ceiling {
        return Err(ceilings::reached(Ceiling::Rules, ceiling, others.in_tenant).into());
    }
    Ok(())
}

/// Refuses one more rule in a namespace that is full.
fn room_in_namespace(change: &Change, others: &OtherRules) -> Result<(), ControlError> {
    if others.in_namespace < change.settings().rules_per_namespace_max {
        return Ok(());
    }
    let full = format!("the namespace holds {} rules, which is the most", others.in_namespace);
    Err(Problem::new(ErrorCode::Conflict, full).into())
}

/// Refuses other attributes in `count_by` while the rule has overrides. Overrides name subjects by these attributes and would
/// silently stop applying.
async fn no_overrides(change: &mut Change, rule_id: RuleId) -> Result<(), ControlError> {
    let page = Page { limit: 1, after: None };
    let tenant_id = change.caller.tenant_id;
    let filter = OverrideFilter::of_rule(rule_id);
    let listing = change.tx.overrides().list(tenant_id, &filter, &page).await?;
    if listing.items.is_empty() {
        return Ok(());
    }
    let detail =
        "the rule has overrides, whose subjects are named by its `count_by`; delete them first";
    Err(Problem::new(ErrorCode::Conflict, detail).into())
}
