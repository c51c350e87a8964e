//! `GET, PUT /operator/tenants/{tenant}/ceilings`

use axum::extract::State;
use weir_domain::id::TenantId;
use weir_http::json::Json;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_wire::ceilings::{CeilingsBody, TenantCeilings};

use crate::actor::Operator;
use crate::answers::to_value;
use crate::ceilings;
use crate::error::ControlError;
use crate::operator::Entry;
use crate::state::ControlState;

/// The ceilings of a tenant; for operators.
#[utoipa::path(get, path = "/operator/tenants/{tenant}/ceilings", operation_id = "operator_ceilings_read", tag = "operator",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    responses(
        (status = 200, description = "The ceilings", body = TenantCeilings),
        (status = 404, description = "No such tenant, or the caller is not an operator"),
    ))]
pub(crate) async fn read(
    State(control): State<ControlState>,
    Operator(person): Operator,
    Path(tenant): Path<String>,
) -> Result<Json<TenantCeilings>, ControlError> {
    let tenant_id: TenantId = tenant.parse().map_err(|_| Problem::not_found())?;
    let mut tx = person.begin(&control, "operator.ceilings_read").await?;
    tx.enter_tenant(tenant_id).await?;
    tx.tenants().find(tenant_id).await?.ok_or_else(Problem::not_found)?;
    let stored = tx.ceilings().of_tenant(tenant_id).await?;
    Ok(Json(ceilings::of_tenant(&stored)))
}

/// Replace the values that are set for a tenant; for operators.
///
/// Omitted ceilings return to their defaults. Existing objects are kept, even above a ceiling.
#[utoipa::path(put, path = "/operator/tenants/{tenant}/ceilings", operation_id = "operator_ceilings_set", tag = "operator",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = CeilingsBody,
    responses(
        (status = 200, description = "The new ceilings", body = TenantCeilings),
        (status = 404, description = "No such tenant, or the caller is not an operator"),
    ))]
pub(crate) async fn set(
    State(control): State<ControlState>,
    Operator(person): Operator,
    Path(tenant): Path<String>,
    Json(body): Json<CeilingsBody>,
) -> Result<Json<TenantCeilings>, ControlError> {
    let tenant_id: TenantId = tenant.parse().map_err(|_| Problem::not_found())?;
    let values = body.parse().map_err(Problem::invalid)?;
    ceilings::within_installation(&values, &control.settings.retention)?;
    let mut tx = person.begin(&control, "operator.ceilings_set").await?;
    tx.enter_tenant(tenant_id).await?;
    tx.tenants().begin_change(tenant_id).await?;
    let before = tx.ceilings().of_tenant(tenant_id).await?;
    tx.ceilings().set_of_tenant(tenant_id, &values).await?;
    let after = ceilings::of_tenant(&weir_store::TenantCeilings { own: values, ..before });
    let entry = Entry {
        tenant_id: Some(tenant_id),
        action: "tenant.ceilings",
        object_kind: "tenant",
        object_id: tenant_id.to_string(),
        before: to_value(&ceilings::of_tenant(&before).own)?,
        after: to_value(&after.own)?,
    };
    entry.append(&control, &mut tx, &person);
    let version = tx.publish(tenant_id, None).await?;
    control.announce(version);
    Ok(Json(after))
}
