//! `POST /tenants/{tenant}/counters/reset`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;
use weir_domain::charge::RuleCharge;
use weir_domain::id::RuleId;
use weir_http::problem::Problem;
use weir_wire::tester::{ResetAnswer, ResetBody};

use crate::actor::{By, Editor, InNamespaces};
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::input::Input;
use crate::rule_service::{
    Exceptions, active_rule, charge_of, reset as counters_reset, spread_by, subject_values,
};
use crate::state::ControlState;

/// Reset the counters of one subject of a rule, as if it had never been checked.
///
/// The audit log gets an entry `counters.reset_requested` before the reset, and `counters.reset` or `counters.reset_failed`
/// after it. After a failure, the counters can have been reset: Redis did not answer.
#[utoipa::path(post, path = "/tenants/{tenant}/counters/reset", operation_id = "counters_reset", tag = "testing",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = ResetBody,
    responses((status = 200, description = "The number of counters that were reset", body = ResetAnswer)))]
pub(crate) async fn reset(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Input { body, once }: Input<ResetBody>,
) -> Result<Response, ControlError> {
    let mut change = control.change("counters.reset_begin", caller, once).await?;
    let charge = charge(&mut change, &body).await?;
    let tenant = change.caller.tenant_id;
    let object = Object::new("rule", &charge.active.id);
    let requested = json!({ "subject": body.subject });
    change.audit("counters.reset_requested", object.clone(), None, Some(requested));
    let unknown = "the reset was begun and its result is unknown: inspect the counters, or reset them with another key";
    let intent = change.commit_intent(unknown.to_owned()).await?;
    // No row is locked while this waits for Redis, or for the regions.
    let result = counters_reset(&control, tenant, &charge).await;
    let mut change = intent.resume("counters.reset").await?;
    match result {
        Ok(counters) => {
            let after = json!({ "subject": body.subject, "counters": counters });
            change.audit("counters.reset", object, None, Some(after));
            change.answer(StatusCode::OK, &ResetAnswer { counters }).await
        }
        Err(error) => {
            let after = json!({ "subject": body.subject });
            change.audit("counters.reset_failed", object, None, Some(after));
            change.commit_failure().await?;
            Err(error.into())
        }
    }
}

/// The charge of the subject. The conditions of the rule are ignored.
async fn charge(change: &mut Change, body: &ResetBody) -> Result<RuleCharge, ControlError> {
    let missing = || Problem::invalid_field("rule_id", "is not a rule of this tenant");
    let rule_id: RuleId = body.rule_id.parse().map_err(|_| missing())?;
    let found = change.tx.rulebook().rule(change.caller.tenant_id, rule_id).await?;
    let (row, overrides) = found.ok_or_else(missing)?;
    let customers = |name: &str| body.subject.get(name).cloned().into_iter().collect();
    let (tenant_id, now) = (change.caller.tenant_id, change.now);
    let exceptions = Exceptions::from(overrides);
    let exceptions = exceptions.with_plans(&mut change.tx, tenant_id, now, customers).await?;
    let active = active_rule(&row, &exceptions)?;
    change.caller.namespaces.admit(active.rule.namespace())?;
    let values = subject_values(&active.rule, &body.subject)?;
    let exception = active.overrides.find(&active.rule, &values, change.now);
    Ok(charge_of(&active, &spread_by(&row), &values, exception))
}
