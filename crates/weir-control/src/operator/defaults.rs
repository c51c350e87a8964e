//! `GET, PUT /operator/ceilings`

use axum::extract::State;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_wire::ceilings::{CeilingsBody, DefaultCeilings};

use crate::actor::Operator;
use crate::answers::to_value;
use crate::ceilings;
use crate::error::ControlError;
use crate::operator::Entry;
use crate::state::ControlState;

/// The ceilings of all tenants that have no value of their own; for operators.
#[utoipa::path(get, path = "/operator/ceilings", operation_id = "operator_defaults_read", tag = "operator",
    responses(
        (status = 200, description = "The defaults", body = DefaultCeilings),
        (status = 404, description = "The caller is not an operator"),
    ))]
pub(crate) async fn read(
    State(control): State<ControlState>,
    Operator(person): Operator,
) -> Result<Json<DefaultCeilings>, ControlError> {
    let mut tx = person.begin(&control, "operator.defaults_read").await?;
    Ok(Json(ceilings::defaults(&tx.ceilings().defaults().await?)))
}

/// Replace the ceilings of all tenants that have no value of their own; for operators.
#[utoipa::path(put, path = "/operator/ceilings", operation_id = "operator_defaults_set", tag = "operator",
    request_body = CeilingsBody,
    responses(
        (status = 200, description = "The new defaults", body = DefaultCeilings),
        (status = 404, description = "The caller is not an operator"),
    ))]
pub(crate) async fn set(
    State(control): State<ControlState>,
    Operator(person): Operator,
    Json(body): Json<CeilingsBody>,
) -> Result<Json<DefaultCeilings>, ControlError> {
    let values = body.parse().map_err(Problem::invalid)?;
    ceilings::within_installation(&values, &control.settings.retention)?;
    let mut tx = person.begin(&control, "operator.defaults_set").await?;
    let before = ceilings::defaults(&tx.ceilings().defaults().await?);
    tx.ceilings().set_defaults(&values).await?;
    let after = ceilings::defaults(&values);
    let entry = Entry {
        tenant_id: None,
        action: "installation.ceilings",
        object_kind: "installation",
        object_id: "installation".to_owned(),
        before: to_value(&before.set)?,
        after: to_value(&after.set)?,
    };
    entry.append(&control, &mut tx, &person);
    let version = tx.publish_installation().await?;
    control.announce(version);
    Ok(Json(after))
}
