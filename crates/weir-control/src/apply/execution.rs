//! Writes a plan, in the transaction of its change.

use weir_http::problem::Problem;
use weir_store::{Page, RuleRow};
use weir_wire::apply::{
    ApplyAnswer, ObjectKind, ObjectName, PlanWarning, UpdatedObject, name_of_override,
};

use crate::apply::overrides::{named_object, subject_of};
use crate::apply::plan::{Plan, Update};
use crate::apply::wanted::path;
use crate::audit;
use crate::change::Change;
use crate::error::ControlError;
use crate::rule_service::CheckedRule;
use crate::rules::create::insert;
use crate::rules::delete::{DELETED_OVERRIDES_MAX, DeletedOverrides, delete_stored};
use crate::rules::edit_warnings;
use crate::rules::update::update_stored;
use crate::state::ControlState;

/// Writes all changes of a plan: deletions first, since they free names and room, and updates in the order in which they add
/// limits. Adds them to the answer.
pub(super) async fn execute(
    control: &ControlState,
    change: &mut Change,
    set: &str,
    mut plan: Plan,
    answer: &mut ApplyAnswer,
) -> Result<(), ControlError> {
    answer.unchanged += plan.unchanged;
    delete_rules(change, plan.deletes, answer).await?;
    plan.updates.sort_by_key(added_limits);
    for update in plan.updates {
        let at = update.at;
        warn(answer, &update.checked);
        let written = write(change, set, update).await.map_err(|error| error.below(&path(at)))?;
        let (updated, warnings) = written;
        let namespace = &updated.namespace;
        let name = &updated.name;
        answer.warnings.extend(warnings.into_iter().map(|text| PlanWarning {
            namespace: namespace.clone(),
            name: name.clone(),
            text,
        }));
        answer.updated.push(updated);
    }
    for create in plan.creates {
        warn(answer, &create.checked);
        let row = insert(control, change, &create.checked, Some(set)).await;
        let row = row.map_err(|error| error.below(&path(create.at)))?;
        answer.created.push(named(row));
    }
    Ok(())
}

/// Deletes rules. The overrides of a rule, of all owners, come before it in the answer, up to a bound of the plan.
async fn delete_rules(
    change: &mut Change,
    rows: Vec<RuleRow>,
    answer: &mut ApplyAnswer,
) -> Result<(), ControlError> {
    let mut room = usize::try_from(DELETED_OVERRIDES_MAX).unwrap_or(usize::MAX);
    for row in rows {
        let DeletedOverrides { count, first } =
            delete_stored(change, row.id, Some(row.revision)).await?;
        let named_before = answer.deleted.len();
        for deleted in first.iter().take(room) {
            let name = name_of_override(&row.name, &subject_of(deleted)?);
            answer.deleted.push(named_object(row.namespace.clone(), name));
        }
        let newly_named = answer.deleted.len() - named_before;
        room -= newly_named;
        answer.deleted_more += count.saturating_sub(u64::try_from(newly_named).unwrap_or(0));
        answer.deleted.push(named(row));
    }
    Ok(())
}

fn named(row: RuleRow) -> ObjectName {
    ObjectName { kind: ObjectKind::Rule, namespace: row.columns.namespace, name: row.columns.name }
}

/// Updates a rule. Returns it with the warnings about the edit.
async fn write(
    change: &mut Change,
    set: &str,
    update: Update,
) -> Result<(UpdatedObject, Vec<String>), ControlError> {
    let Update { before, checked, adopted, changes, .. } = update;
    let id = before.id;
    let revision = before.revision;
    let changed_at = before.updated_at;
    let page = Page { limit: 1, after: None };
    let last = change.tx.rules().revisions(change.caller.tenant_id, id, &page).await?;
    let last = last
        .items
        .into_iter()
        .next()
        .ok_or_else(|| Problem::internal(format!("stored rule {id} has no revision")))?;
    let row = update_stored(change, &before, &checked, revision, Some(set)).await?;
    let warnings = edit_warnings(&before, &row);
    let updated = UpdatedObject {
        kind: ObjectKind::Rule,
        id: id.to_string(),
        namespace: checked.body.namespace,
        name: checked.body.name,
        changes,
        adopted,
        last_changed_by: Some(audit::actor(last.actor)),
        last_changed_at: changed_at.into(),
    };
    Ok((updated, warnings))
}

/// The limits that an update adds to those that every request of the namespace meets.
fn added_limits(update: &Update) -> i64 {
    let count =
        |rule: &CheckedRule| i64::try_from(rule.rule.unconditional_limits()).unwrap_or(i64::MAX);
    count(&update.checked) - CheckedRule::stored(&update.before).map_or(0, |old| count(&old))
}

fn warn(answer: &mut ApplyAnswer, checked: &CheckedRule) {
    let warnings = weir_domain::warnings::of_rule(&checked.rule).into_iter();
    answer.warnings.extend(warnings.map(|text| PlanWarning {
        namespace: checked.body.namespace.clone(),
        name: checked.body.name.clone(),
        text,
    }));
}
