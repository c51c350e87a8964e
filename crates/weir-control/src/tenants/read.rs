//! `GET /tenants/{tenant}`

use axum::extract::State;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_wire::tenants::Tenant;

use crate::actor::{By, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::state::ControlState;
use crate::tenants;

/// One tenant.
#[utoipa::path(get, path = "/tenants/{tenant}", operation_id = "tenants_read", tag = "tenants",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    responses((status = 200, description = "The tenant", body = Tenant)))]
pub(crate) async fn read(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
) -> Result<Json<Tenant>, ControlError> {
    let mut tx = control.reading("tenants.read", &caller).await?;
    let row = tx.tenants().find(caller.tenant_id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(tenants::tenant(row, Some(caller.role))))
}
