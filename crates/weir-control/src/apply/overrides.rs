//! The wanted overrides of a set. They are planned and written after the rules, to which they belong.

use std::collections::{HashMap, HashSet};

use weir_domain::id::{OverrideId, RuleId};
use weir_http::problem::Problem;
use weir_store::{OverrideSpec, Page, RuleFilter};
use weir_wire::apply::{APPLY_OVERRIDES_MAX, ApplyAnswer, ApplyBody, name_of_override};

use crate::apply::comparison::{Update, refuse_wrong, repeated};
use crate::apply::overrides::names::path;
use crate::apply::overrides::plan::{Plan, plan, rules_of};
use crate::change::Change;
use crate::error::ControlError;
use crate::overrides::write::insert;
use crate::specs::{delete_stored, replace_stored};
use crate::state::ControlState;

mod count_by;
mod names;
mod plan;

pub(super) use count_by::delete_before;
pub(super) use names::{named_object, subject_of};

/// Checks what needs no rule.
pub(super) fn checked(body: &ApplyBody) -> Result<(), Problem> {
    let keys = body.overrides.iter().map(|one| (&one.namespace, &one.rule, &one.subject));
    let count = body.overrides.len();
    refuse_wrong("overrides", count, APPLY_OVERRIDES_MAX, || {
        repeated("overrides", "subject", "subject", keys)
    })
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
        let Update { at, before, after, shown } = update;
        let revision = before.revision;
        let written = replace_stored(change, "update", &before, after, revision, Some(&body.set));
        written.await.map_err(|error| error.below(&path(at)))?;
        answer.updated.push(shown);
    }
    for row in ended {
        delete_stored::<OverrideSpec>(change, row.id, None).await?;
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
        delete_stored::<OverrideSpec>(change, row.id, Some(row.revision)).await?;
        let name = name_of_override(&rule.name, &subject_of(&row)?);
        answer.deleted.push(named_object(rule.namespace.clone(), name));
    }
    Ok(())
}
