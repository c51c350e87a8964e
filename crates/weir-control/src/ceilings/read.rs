//! `GET /tenants/{tenant}/ceilings`

use axum::extract::State;
use weir_http::json::Json;
use weir_wire::ceilings::TenantCeilings;

use crate::actor::{By, Viewer};
use crate::ceilings;
use crate::error::ControlError;
use crate::state::ControlState;

/// The ceilings of the tenant. Operators set them.
#[utoipa::path(get, path = "/tenants/{tenant}/ceilings", operation_id = "ceilings_read", tag = "tenants",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    responses((status = 200, description = "The ceilings", body = TenantCeilings)))]
pub(crate) async fn read(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
) -> Result<Json<TenantCeilings>, ControlError> {
    let mut tx = control.reading("ceilings.read", &caller).await?;
    let stored = tx.ceilings().of_tenant(caller.tenant_id).await?;
    Ok(Json(ceilings::of_tenant(&stored)))
}
