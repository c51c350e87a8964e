//! The wanted alerts of a set. They are planned and written after the rules that they watch.

use weir_http::problem::Problem;
use weir_wire::apply::{APPLY_ALERTS_MAX, ApplyAnswer, ApplyBody};

use crate::actor::Caller;
use crate::alerts::delete_stored;
use crate::alerts::write::insert;
use crate::alerts::write::update_stored;
use crate::apply::alerts::plan::{Create, Plan, path, unwanted};
use crate::apply::comparison::{Update, refuse_wrong, repeated};
use crate::change::Change;
use crate::error::ControlError;
use crate::state::ControlState;

mod plan;
mod targets;

/// Checks what needs no rule and no webhook. A key that is restricted to namespaces must not send messages to the webhooks of the
/// tenant.
pub(super) fn checked(caller: &Caller, body: &ApplyBody) -> Result<(), Problem> {
    if !body.alerts.is_empty() && caller.namespaces.are_restricted() {
        let detail = "this key is restricted to namespaces, and alerts are sent to webhooks of the whole tenant; \
                      apply `alerts` with another key";
        return Err(Problem::forbidden(detail));
    }
    let names = body.alerts.iter().map(|wanted| &wanted.name);
    let count = body.alerts.len();
    refuse_wrong("alerts", count, APPLY_ALERTS_MAX, || repeated("alerts", "name", "name", names))
}

/// Deletes, with `prune`, the alerts of the set that the request does not name, and adds them to the answer. The deletion of a rule
/// would delete those about it unseen, so they come first. A key that is restricted to namespaces deletes none.
pub(super) async fn delete_before(
    change: &mut Change,
    body: &ApplyBody,
    answer: &mut ApplyAnswer,
) -> Result<(), ControlError> {
    if !body.prune || change.caller.namespaces.are_restricted() {
        return Ok(());
    }
    for (id, object) in unwanted(change, body).await? {
        delete_stored(change, id).await?;
        answer.deleted.push(object);
    }
    Ok(())
}

/// Plans and writes the alerts, and adds them to the answer.
pub(super) async fn execute(
    control: &ControlState,
    change: &mut Change,
    body: &ApplyBody,
    answer: &mut ApplyAnswer,
) -> Result<(), ControlError> {
    let Plan { updates, creates, unchanged } = Plan::new(change, body).await?;
    answer.unchanged += unchanged;
    for update in updates {
        let Update { at, before, after, shown } = update;
        let written = update_stored(change, before, after, Some(&body.set)).await;
        written.map_err(|error| error.below(&path(at)))?;
        answer.updated.push(shown);
    }
    for Create { at, alert, object } in creates {
        let written = insert(control, change, alert, Some(&body.set)).await;
        written.map_err(|error| error.below(&path(at)))?;
        answer.created.push(object);
    }
    Ok(())
}
