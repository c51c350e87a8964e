//! The wanted overrides of a set. They are planned and written after the rules, to which they belong.

use std::collections::{HashMap, HashSet};

use weir_domain::id::{OverrideId, RuleId};
use weir_http::problem::Problem;
use weir_store::{Page, RuleFilter};
use weir_wire::apply::{
    APPLY_OVERRIDES_MAX, ApplyAnswer, ApplyBody, ObjectKind, UpdatedObject, name_of_override,
};
use weir_wire::problem::FieldProblem;

use crate::apply::overrides::names::path;
use crate::apply::overrides::plan::{Plan, Update, plan, rules_of};
use crate::change::Change;
use crate::error::ControlError;
use crate::overrides::create::{delete_ended, insert};
use crate::overrides::delete::delete_stored;
use crate::overrides::update::update_stored;
use crate::state::ControlState;

mod count_by;
mod names;
mod plan;

pub(super) use count_by::delete_before;
pub(super) use names::{named_object, subject_of};

/// Checks what needs no rule.
pub(super) fn checked(body: &ApplyBody) -> Result<(), Problem> {
    if body.overrides.len() > APPLY_OVERRIDES_MAX {
        let reason = format!("must hold at most {APPLY_OVERRIDES_MAX} overrides");
        return Err(Problem::invalid_field("overrides", reason));
    }
    let mut seen = HashMap::new();
    let mut wrong = Vec::new();
    for (at, wanted) in body.overrides.iter().enumerate() {
        let key = (&wanted.namespace, &wanted.rule, &wanted.subject);
        if let Some(first) = seen.insert(key, at) {
            let reason = format!("is the subject of overrides[{first}] too");
            wrong.push(FieldProblem::new(format!("overrides[{at}].subject"), reason));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(Problem::invalid(wrong)) }
}

/// Plans and writes the overrides, deletions first, and adds them to the answer.
pub(super) async fn execute(
    control: &ControlState,
    change: &mut Change,
    body: &ApplyBody,
    answer: &mut ApplyAnswer,
) -> Result<(), ControlError> {
    let rules = rules_of(change, body).await?;
    let Plan { updates, creates, ended, named } = plan(change, body, &rules, answer).await?;
    if body.prune {
        prune(change, body, &named, answer).await?;
    }
    for update in updates {
        let Update { at, before, after, adopted, changes } = update;
        let id = before.id;
        let changed_at = before.updated_at;
        let revision = before.revision;
        let written = update_stored(change, before, after, revision, Some(&body.set)).await;
        written.map_err(|error| error.below(&path(at)))?;
        let wanted = &body.overrides[at];
        answer.updated.push(UpdatedObject {
            kind: ObjectKind::Override,
            id: id.to_string(),
            namespace: wanted.namespace.clone(),
            name: wanted.name(),
            changes,
            adopted,
            last_changed_by: None,
            last_changed_at: changed_at.into(),
        });
    }
    for row in ended {
        delete_ended(change, row).await?;
    }
    for (at, new) in creates {
        let written = insert(control, change, new, Some(&body.set)).await;
        written.map_err(|error| error.below(&path(at)))?;
        let wanted = &body.overrides[at];
        answer.created.push(named_object(wanted.namespace.clone(), wanted.name()));
    }
    Ok(())
}

/// Deletes the overrides of the set that the request does not name, where the caller has rights.
async fn prune(
    change: &mut Change,
    body: &ApplyBody,
    named: &HashSet<OverrideId>,
    answer: &mut ApplyAnswer,
) -> Result<(), ControlError> {
    let tenant_id = change.caller.tenant_id;
    let mut rows = change.tx.overrides().of_set(tenant_id, &body.set).await?;
    rows.retain(|row| !named.contains(&row.id));
    let ids: HashSet<RuleId> = rows.iter().map(|row| row.rule_id).collect();
    let filter = RuleFilter { ids: Some(ids.into_iter().collect()), ..RuleFilter::default() };
    let page = Page { limit: u32::try_from(rows.len()).unwrap_or(u32::MAX).max(1), after: None };
    let rules = change.tx.rules().list(tenant_id, &filter, &page).await?.items;
    let rules: HashMap<_, _> = rules.into_iter().map(|rule| (rule.id, rule)).collect();
    for row in rows {
        let Some(rule) = rules.get(&row.rule_id) else { continue };
        if !change.caller.namespaces.contain(&rule.namespace) {
            continue;
        }
        delete_stored(change, row.id, Some(row.revision)).await?;
        let name = name_of_override(&rule.name, &subject_of(&row)?);
        answer.deleted.push(named_object(rule.namespace.clone(), name));
    }
    Ok(())
}
