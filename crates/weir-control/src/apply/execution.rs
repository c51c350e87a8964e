//! Writes a plan, in the transaction of its change.

use weir_http::problem::Problem;
use weir_store::Page;
use weir_wire::apply::{ApplyAnswer, PlanWarning};
use weir_wire::audit::AuditActor;

use crate::apply::plan::{Plan, Planned, Update, path};
use crate::audit;
use crate::change::Change;
use crate::error::ControlError;
use crate::specs::{insert_checked, replace_stored};
use crate::state::ControlState;

/// Writes all changes of a plan: deletions first, since they free names and room, and updates in their order. Adds them to the
/// answer.
pub(super) async fn execute<T: Planned>(
    control: &ControlState,
    change: &mut Change,
    set: &str,
    mut plan: Plan<T>,
    answer: &mut ApplyAnswer,
) -> Result<(), ControlError> {
    answer.unchanged += plan.unchanged;
    T::delete_rows(change, plan.deletes, answer).await?;
    plan.updates.sort_by_key(T::order);
    for update in plan.updates {
        let Update::<T> { at, before, after, mut shown } = update;
        warn::<T>(answer, &after, T::warnings(&after));
        shown.last_changed_by = Some(last_changed_by::<T>(change, before.id).await?);
        let revision = before.revision;
        let below = |error: ControlError| error.below(&path::<T>(at));
        let body = T::edited_body(change, &before, &after).await.map_err(below)?;
        let written = replace_stored(change, "update", &before, body, revision, Some(set)).await;
        let row = written.map_err(below)?;
        warn::<T>(answer, &after, T::edit_warnings(&before, &row));
        answer.updated.push(shown);
    }
    for (at, checked) in plan.creates {
        warn::<T>(answer, &checked, T::warnings(&checked));
        let row = insert_checked::<T>(control, change, &checked, Some(set)).await;
        let row = row.map_err(|error| error.below(&path::<T>(at)))?;
        answer.created.push(T::named(&row));
    }
    Ok(())
}

/// The author of the last revision of an object.
async fn last_changed_by<T: Planned>(
    change: &mut Change,
    id: T::Id,
) -> Result<AuditActor, ControlError> {
    let page = Page { limit: 1, after: None };
    let last = change.tx.specs::<T>().revisions(change.caller.tenant_id, id, &page).await?;
    let missing = || Problem::internal(format!("stored {} {id} has no revision", T::WORD));
    Ok(audit::actor(last.items.into_iter().next().ok_or_else(missing)?.actor))
}

fn warn<T: Planned>(answer: &mut ApplyAnswer, checked: &T::Checked, warnings: Vec<String>) {
    let object = T::wanted(checked);
    answer.warnings.extend(warnings.into_iter().map(|text| PlanWarning {
        namespace: object.namespace.clone(),
        name: object.name.clone(),
        text,
    }));
}
