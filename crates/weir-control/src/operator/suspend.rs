//! `PATCH /operator/tenants/{tenant}`

use axum::extract::State;
use serde_json::json;
use weir_domain::id::{AuditId, TenantId};
use weir_http::json::Json;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_store::NewAudit;
use weir_wire::tenants::{SuspendTenant, Tenant};

use crate::actor::Operator;
use crate::error::ControlError;
use crate::state::ControlState;
use crate::tenants;

/// Suspend a tenant, or end its suspension; for operators.
///
/// While it is suspended, its checks are refused and it cannot be changed.
#[utoipa::path(patch, path = "/operator/tenants/{tenant}", operation_id = "operator_tenants_suspend", tag = "operator",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = SuspendTenant,
    responses(
        (status = 200, description = "Done", body = Tenant),
        (status = 404, description = "No such tenant, or the caller is not an operator"),
    ))]
pub(crate) async fn suspend(
    State(control): State<ControlState>,
    Operator(person): Operator,
    Path(tenant): Path<String>,
    Json(body): Json<SuspendTenant>,
) -> Result<Json<Tenant>, ControlError> {
    let tenant_id: TenantId = tenant.parse().map_err(|_| Problem::not_found())?;
    let mut tx = person.begin(&control, "operator.suspend").await?;
    tx.enter_tenant(tenant_id).await?;
    tx.tenants().begin_change(tenant_id).await?;
    let before = tx.tenants().find(tenant_id).await?.ok_or_else(Problem::not_found)?;
    let row = tx.tenants().set_suspended(tenant_id, body.suspended).await?;
    let row = row.ok_or_else(Problem::not_found)?;
    let entry = NewAudit {
        id: control.id(AuditId::new),
        tenant_id: Some(tenant_id),
        actor: person.actor(),
        action: if body.suspended { "tenant.suspend" } else { "tenant.resume" }.to_owned(),
        object_kind: "tenant".to_owned(),
        object_id: tenant_id.to_string(),
        before: Some(json!({ "suspended": before.suspended })),
        after: Some(json!({ "suspended": body.suspended })),
        ip: person.origin.ip(),
        request_id: person.origin.request_id.clone(),
    };
    tx.audit().append(&entry);
    let version = tx.publish(tenant_id, None).await?;
    control.announce(version);
    Ok(Json(tenants::tenant(row, None)))
}
