//! The overrides of rules whose `count_by` changes. They name subjects by its attributes, so those of the set are deleted before
//! the rule is changed, and the request has the new ones.

use weir_http::problem::Problem;
use weir_store::{OverrideFilter, OverrideRow, OverrideSpec, Page, RuleSpec};
use weir_wire::apply::{ApplyAnswer, ApplyBody, name_of_override};
use weir_wire::problem::FieldProblem;

use crate::apply::overrides::names::{named_object, subject_of};
use crate::apply::plan::{Plan, Update, path};
use crate::change::Change;
use crate::error::ControlError;
use crate::rule_service::CheckedRule;
use crate::specs::delete_stored;

/// Deletes, with `prune`, the overrides of the set that belong to these rules, and adds them to the answer. Refuses a rule that has
/// others.
pub(in crate::apply) async fn delete_before(
    change: &mut Change,
    body: &ApplyBody,
    plan: &Plan<RuleSpec>,
    answer: &mut ApplyAnswer,
) -> Result<(), ControlError> {
    let changed: Vec<&Update<RuleSpec>> =
        plan.updates.iter().filter(|update| counts_anew(update)).collect();
    if changed.is_empty() {
        return Ok(());
    }
    let of_set = change.tx.overrides().of_set(change.caller.tenant_id, &body.set).await?;
    let mut wrong = Vec::new();
    for Update::<RuleSpec> { at, before, .. } in changed {
        let rows: Vec<&OverrideRow> =
            of_set.iter().filter(|row| row.rule_id == before.id).collect();
        let one_more = u32::try_from(rows.len()).unwrap_or(u32::MAX).saturating_add(1);
        let page = Page { limit: one_more, after: None };
        let filter = OverrideFilter::of_rule(before.id);
        let all = change.tx.overrides().list(change.caller.tenant_id, &filter, &page).await?.items;
        let reason = match (all.len() > rows.len(), rows.is_empty() || body.prune) {
            (true, _) => {
                "cannot change while the rule has overrides that do not belong to the set; delete them first"
            }
            (false, false) => {
                "cannot change while the rule has overrides; `prune` deletes those of the set first"
            }
            (false, true) => {
                for row in rows {
                    delete_stored::<OverrideSpec>(change, row.id, Some(row.revision)).await?;
                    let name = name_of_override(&before.name, &subject_of(row)?);
                    answer.deleted.push(named_object(before.namespace.clone(), name));
                }
                continue;
            }
        };
        wrong.push(FieldProblem::new(format!("{}.count_by", path::<RuleSpec>(*at)), reason));
    }
    if wrong.is_empty() { Ok(()) } else { Err(Problem::invalid(wrong).into()) }
}

/// Whether the rule counts by other attributes from then on.
fn counts_anew(update: &Update<RuleSpec>) -> bool {
    let before = CheckedRule::stored(&update.before);
    before.map_or(true, |before| before.rule.count_by() != update.after.rule.count_by())
}
