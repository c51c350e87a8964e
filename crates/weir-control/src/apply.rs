//! `POST /tenants/{tenant}/apply`: rules as code. The wanted state of a set of objects is applied in one transaction.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_http::problem::Problem;
use weir_store::{PlanSpec, ProfileSpec, RuleSpec};
use weir_wire::apply::{ApplyAnswer, ApplyBody};
use weir_wire::problem::ErrorCode;

use crate::actor::{By, Editor, InNamespaces};
use crate::answers::{answer, to_value};
use crate::apply::plan::{Plan, Planned, refuse_deletes_above};
use crate::change::Change;
use crate::error::ControlError;
use crate::input::{Input, Once};
use crate::state::ControlState;

mod alerts;
mod assignments;
mod comparison;
mod execution;
mod overrides;
mod plan;
mod plans;
mod profiles;
mod rules;

/// The longest body: a thousand rules of a few kilobytes each.
pub(crate) const APPLY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Apply the desired state of a set of rules, profiles, plans, assignments, overrides and alerts: all of it, or nothing. With
/// `dry_run`, answers what would change.
///
/// An object belongs to the set that created it. Objects of other sets, and those that people made, are changed only with
/// `adopt`. Objects are deleted only with `prune`, and only those of the set. A key that is restricted to namespaces applies and deletes
/// what is in these only, and no plans, assignments and alerts.
#[utoipa::path(post, path = "/tenants/{tenant}/apply", operation_id = "rules_apply", tag = "rules",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = ApplyBody,
    responses(
        (status = 200, description = "The plan, which is applied unless it is a dry run", body = ApplyAnswer),
        (status = 409, description = "Something changed since `if_version`, `prune` would delete too many objects, or one cannot be written"),
    ))]
pub(crate) async fn apply(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Input { body, once }: Input<ApplyBody>,
) -> Result<Response, ControlError> {
    let rules = rules::checked(&body)?;
    for rule in &rules {
        caller.namespaces.admit(&rule.body.namespace)?;
    }
    profiles::checked(&body)?;
    for wanted in &body.profiles {
        caller.namespaces.admit(&wanted.profile.namespace)?;
    }
    plans::checked(&caller, &body)?;
    assignments::checked(&body)?;
    overrides::checked(&body)?;
    for wanted in &body.overrides {
        caller.namespaces.admit(&wanted.namespace)?;
    }
    alerts::checked(&caller, &body)?;
    // A dry run is executed and rolled back, so it meets every bound that the apply would meet.
    let once = if body.dry_run { Once::not_stored() } else { once };
    let mut change = control.change("rules.apply", caller, once).await?;
    let version = unchanged_since(&mut change, body.if_version).await?;
    let plan = Plan::<RuleSpec>::new(&mut change, &body, rules).await?;
    let wanted = body.profiles.iter().map(|wanted| wanted.profile.clone()).collect();
    let profiles = Plan::<ProfileSpec>::new(&mut change, &body, wanted).await?;
    let wanted = body.plans.iter().map(|wanted| wanted.plan.clone()).collect();
    let mut plans = Plan::<PlanSpec>::new(&mut change, &body, wanted).await?;
    let mut done = ApplyAnswer::default();
    alerts::delete_before(&mut change, &body, &mut done).await?;
    overrides::delete_before(&mut change, &body, &plan, &mut done).await?;
    let assignments = assignments::end(&mut change, &body, &plans.deletes, &mut done).await?;
    // A deleted plan can name a rule that is deleted with it; a written one, a rule that is written with it.
    PlanSpec::delete_rows(&mut change, std::mem::take(&mut plans.deletes), &mut done).await?;
    execution::execute(&control, &mut change, &body.set, plan, &mut done).await?;
    execution::execute(&control, &mut change, &body.set, profiles, &mut done).await?;
    execution::execute(&control, &mut change, &body.set, plans, &mut done).await?;
    assignments::write(&control, &mut change, &body, assignments, &mut done).await?;
    overrides::execute(&control, &mut change, &body, &mut done).await?;
    alerts::execute(&control, &mut change, &body, &mut done).await?;
    if !body.dry_run {
        // The error rolls everything back.
        refuse_deletes_above(done.deletions(), body.allow_deletes)?;
    }
    let planned =
        ApplyAnswer { applied: !body.dry_run, version, rulebook_version: version, ..done };
    if body.dry_run {
        return Ok(answer(StatusCode::OK, &to_value(&planned)?));
    }
    change.answer(StatusCode::OK, &planned).await
}

/// The version at which the tenant last changed. Refuses a plan that was made at another one.
async fn unchanged_since(change: &mut Change, expected: Option<u64>) -> Result<u64, ControlError> {
    let tenant = change.tx.tenants().find(change.caller.tenant_id).await?;
    let version = tenant.ok_or_else(Problem::not_found)?.version;
    match expected {
        Some(expected) if expected != version => {
            let detail = format!(
                "the tenant changed at version {version}, after the plan of version {expected}; make a new plan"
            );
            Err(Problem::new(ErrorCode::Conflict, detail).into())
        }
        _ => Ok(version),
    }
}
