//! `DELETE /tenants/{tenant}`

use axum::extract::State;
use axum::response::Response;
use serde_json::json;
use weir_http::problem::Problem;
use weir_wire::tenants::DeleteTenant;

use crate::actor::{By, Owner};
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Input;
use crate::state::ControlState;

/// Delete a tenant and everything in it; its keys stop working at once.
///
/// The body repeats the name of the tenant, because a deletion cannot be undone.
#[utoipa::path(delete, path = "/tenants/{tenant}", operation_id = "tenants_delete", tag = "tenants",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = DeleteTenant,
    responses((status = 204, description = "Deleted")))]
pub(crate) async fn delete(
    State(control): State<ControlState>,
    By { caller, .. }: By<Owner>,
    Input { body, once }: Input<DeleteTenant>,
) -> Result<Response, ControlError> {
    let mut change = control.change("tenants.delete", caller, once).await?;
    let tenant_id = change.caller.tenant_id;
    let row = change.tx.tenants().find(tenant_id).await?.ok_or_else(Problem::not_found)?;
    if row.name != body.name {
        return Err(Problem::invalid_field("name", "is not the name of this tenant").into());
    }
    let object = Object::new("tenant", &tenant_id);
    change.audit("tenant.delete", object, Some(json!({ "name": row.name })), None);
    change.tx.tenants().delete(tenant_id).await?;
    change.done().await
}
