//! Subjects: the counters of one subject across all rules, and temporary overrides for it.

use axum::extract::State;
use axum::response::Response;
use weir_domain::algorithm::Algorithm;
use weir_http::problem::Problem;
use weir_wire::limits::LimitBody;
use weir_wire::overrides::OverrideAnswer;
use weir_wire::subjects::{AllowOrBlockBody, FACTOR_DEFAULT, FACTOR_MAX, RaiseSubjectBody};
use weir_wire::words::Action;

use crate::actor::{By, Editor, InNamespaces};
use crate::error::ControlError;
use crate::input::Input;
use crate::state::ControlState;
use crate::subjects::temporary::Target;

mod history;
pub(crate) mod inspect;
pub(crate) mod limits;
pub(crate) mod near_limit;
mod temporary;

/// Raise the limits of one subject for some time: an override with a multiple of the units of each limit. Used units stay
/// used. An active raise is replaced if it ends no later.
#[utoipa::path(post, path = "/tenants/{tenant}/subjects/raise", operation_id = "subjects_raise", tag = "subjects",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = RaiseSubjectBody,
    responses(
        (status = 201, description = "The override", body = OverrideAnswer),
        (status = 200, description = "The override, which replaced one that ended no later", body = OverrideAnswer),
        (status = 409, description = "An override of the subject ends later, allows it or denies it, or the tenant has reached its limit of overrides"),
    ))]
pub(crate) async fn raise(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Input { body, once }: Input<RaiseSubjectBody>,
) -> Result<Response, ControlError> {
    let factor = body.factor.unwrap_or(FACTOR_DEFAULT);
    if !(2..=FACTOR_MAX).contains(&factor) {
        let reason = format!("must be from 2 to {FACTOR_MAX}");
        return Err(Problem::invalid_field("factor", reason).into());
    }
    let mut change = control.change("subjects.raise", caller, once).await?;
    let target = Target::load(&mut change, &body.rule_id, body.subject, body.for_s).await?;
    let limits = target.limits(change.now)?.into_iter().map(|limit| times(limit, factor));
    let limits = limits.collect::<Result<Vec<_>, _>>()?;
    target.write(&control, change, Some(limits), None, body.reason).await
}

/// The multiple of a limit, or the problem that it exceeds a bound of its algorithm.
fn times(limit: LimitBody, factor: u32) -> Result<LimitBody, Problem> {
    let raised = limit.times(factor);
    Algorithm::parse(raised.clone().into()).map_err(|wrong| {
        let reason = format!("is too great: `{}` of a limit {}", wrong.field, wrong.reason);
        Problem::invalid_field("factor", reason)
    })?;
    Ok(raised)
}

/// Block one subject of a rule for some time: an override that denies it. Counters are unchanged.
#[utoipa::path(post, path = "/tenants/{tenant}/subjects/block", operation_id = "subjects_block", tag = "subjects",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = AllowOrBlockBody,
    responses(
        (status = 201, description = "The override", body = OverrideAnswer),
        (status = 200, description = "The override, which replaced one that ended no later", body = OverrideAnswer),
        (status = 409, description = "An override of the subject ends later, or the tenant has reached its limit of overrides"),
    ))]
pub(crate) async fn block(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Input { body, once }: Input<AllowOrBlockBody>,
) -> Result<Response, ControlError> {
    let mut change = control.change("subjects.block", caller, once).await?;
    let target = Target::load(&mut change, &body.rule_id, body.subject, body.for_s).await?;
    target.write(&control, change, None, Some(Action::Deny), body.reason).await
}

/// Allow every check of one subject of a rule for some time: an override that allows it. Nothing is charged meanwhile; other rules
/// still limit the subject.
#[utoipa::path(post, path = "/tenants/{tenant}/subjects/allow", operation_id = "subjects_allow", tag = "subjects",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = AllowOrBlockBody,
    responses(
        (status = 201, description = "The override", body = OverrideAnswer),
        (status = 200, description = "The override, which replaced one that ended no later", body = OverrideAnswer),
        (status = 409, description = "An override of the subject ends later, or the tenant has reached its limit of overrides"),
    ))]
pub(crate) async fn allow(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Input { body, once }: Input<AllowOrBlockBody>,
) -> Result<Response, ControlError> {
    let mut change = control.change("subjects.allow", caller, once).await?;
    let target = Target::load(&mut change, &body.rule_id, body.subject, body.for_s).await?;
    target.write(&control, change, None, Some(Action::Allow), body.reason).await
}
