//! `POST /tenants/{tenant}/counters/reset`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;
use weir_domain::charge::RuleCharge;
use weir_domain::id::RuleId;
use weir_http::problem::Problem;
use weir_wire::tester::{ResetAnswer, ResetBody};

use crate::actor::{By, Editor};
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::input::Input;
use crate::rule_service::{CountersError, active_rule, charge_of, subject_values};
use crate::state::ControlState;

/// Reset the counters of one subject of a rule, as if it had never been checked.
#[utoipa::path(post, path = "/tenants/{tenant}/counters/reset", operation_id = "counters_reset", tag = "testing",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = ResetBody,
    responses((status = 200, description = "Forgotten", body = ResetAnswer)))]
pub(crate) async fn reset(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    Input { body, once }: Input<ResetBody>,
) -> Result<Response, ControlError> {
    let mut change = control.change("counters.reset", caller, once).await?;
    let charge = charge(&mut change, &body).await?;
    let object = Object::new("rule", &charge.active.id);
    let after = json!({ "subject": body.subject });
    change.audit("counters.reset", object, None, Some(after)).await?;
    // While this waits for Redis, other changes of this tenant wait too; those of other tenants do not.
    let names = charge.counters(change.caller.tenant_id);
    let counters = control.limiter.reset(&names).await.map_err(CountersError::from)?;
    change.answer(StatusCode::OK, &ResetAnswer { counters }).await
}

/// The charge of the subject. The conditions of the rule are ignored.
async fn charge(change: &mut Change, body: &ResetBody) -> Result<RuleCharge, ControlError> {
    let missing = || Problem::invalid_field("rule_id", "is not a rule of this tenant");
    let rule_id: RuleId = body.rule_id.parse().map_err(|_| missing())?;
    let found = change.tx.rulebook().rule(change.caller.tenant_id, rule_id).await?;
    let (row, overrides) = found.ok_or_else(missing)?;
    let active = active_rule(&row, &overrides)?;
    let values = subject_values(&active.rule, &body.subject)?;
    Ok(charge_of(&active, &values, active.overrides.find(&active.rule, &values, change.now)))
}
