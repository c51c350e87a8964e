//! `PATCH /tenants/{tenant}`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;
use weir_http::problem::Problem;
use weir_wire::tenants::{RenameTenant, Tenant};

use crate::actor::{Admin, By};
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Input;
use crate::state::ControlState;
use crate::{names, tenants};

/// Rename a tenant.
#[utoipa::path(patch, path = "/tenants/{tenant}", operation_id = "tenants_rename", tag = "tenants",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = RenameTenant,
    responses((status = 200, description = "Renamed", body = Tenant)))]
pub(crate) async fn rename(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Input { body, once }: Input<RenameTenant>,
) -> Result<Response, ControlError> {
    names::name("name", &body.name)?;
    let mut change = control.change("tenants.rename", caller, once).await?;
    let tenant_id = change.caller.tenant_id;
    let before = change.tx.tenants().find(tenant_id).await?.ok_or_else(Problem::not_found)?;
    let row = change.tx.tenants().rename(tenant_id, &body.name).await?;
    let row = row.ok_or_else(Problem::not_found)?;
    let object = Object::new("tenant", &tenant_id);
    let (before, after) = (json!({ "name": before.name }), json!({ "name": row.name }));
    change.audit("tenant.rename", object, Some(before), Some(after)).await?;
    let role = change.caller.role;
    change.answer(StatusCode::OK, &tenants::tenant(row, Some(role))).await
}
