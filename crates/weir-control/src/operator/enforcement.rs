//! `GET, PUT /operator/enforcement`

use axum::extract::State;
use serde_json::json;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_wire::tenants::{Enforcement, InstallationEnforcement};

use crate::actor::Operator;
use crate::error::ControlError;
use crate::operator::Entry;
use crate::state::ControlState;

/// Whether limits are enforced, for every tenant; for operators.
#[utoipa::path(get, path = "/operator/enforcement", operation_id = "operator_enforcement_read", tag = "operator",
    responses(
        (status = 200, description = "The current state", body = InstallationEnforcement),
        (status = 404, description = "The caller is not an operator"),
    ))]
pub(crate) async fn read(
    State(control): State<ControlState>,
    Operator(person): Operator,
) -> Result<Json<InstallationEnforcement>, ControlError> {
    let mut tx = person.begin(&control, "operator.enforcement_read").await?;
    let enforcement = tx.installation().enforced().await?.into();
    Ok(Json(InstallationEnforcement { enforcement }))
}

/// Turn the limits of every tenant off, or on again; for operators.
///
/// While they are off, every gate allows every check of every tenant and charges nothing.
#[utoipa::path(put, path = "/operator/enforcement", operation_id = "operator_enforcement_set", tag = "operator",
    request_body = InstallationEnforcement,
    responses(
        (status = 200, description = "The new state", body = InstallationEnforcement),
        (status = 404, description = "The caller is not an operator"),
    ))]
pub(crate) async fn set(
    State(control): State<ControlState>,
    Operator(person): Operator,
    Json(body): Json<InstallationEnforcement>,
) -> Result<Json<InstallationEnforcement>, ControlError> {
    let mut tx = person.begin(&control, "operator.enforcement_set").await?;
    let before: Enforcement = tx.installation().enforced().await?.into();
    if !tx.installation().set_enforced(body.enforcement.is_on()).await? {
        return Err(Problem::not_found().into());
    }
    let entry = Entry {
        tenant_id: None,
        action: "installation.enforcement",
        object_kind: "installation",
        object_id: "installation".to_owned(),
        before: json!({ "enforcement": before }),
        after: json!({ "enforcement": body.enforcement }),
    };
    entry.append(&control, &mut tx, &person);
    let version = tx.publish_installation().await?;
    control.announce(version);
    Ok(Json(body))
}
