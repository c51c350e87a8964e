//! `PATCH /tenants/{tenant}`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value, json};
use weir_http::problem::Problem;
use weir_wire::tenants::{Tenant, UpdateTenant};

use crate::actor::{Admin, By};
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Input;
use crate::state::ControlState;
use crate::{names, tenants};

/// Rename a tenant, or turn the recording of its checks on or off; what is left out stays.
///
/// What was recorded until then stays for its day.
#[utoipa::path(patch, path = "/tenants/{tenant}", operation_id = "tenants_update", tag = "tenants",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = UpdateTenant,
    responses((status = 200, description = "Changed", body = Tenant)))]
pub(crate) async fn update(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Input { body, once }: Input<UpdateTenant>,
) -> Result<Response, ControlError> {
    let UpdateTenant { name, record_checks } = &body;
    match name {
        Some(name) => names::name("name", name)?,
        None if record_checks.is_none() => {
            return Err(Problem::invalid_field("body", "must name something to change").into());
        }
        None => {}
    }
    let mut change = control.change("tenants.update", caller, once).await?;
    let tenant_id = change.caller.tenant_id;
    let before = change.tx.tenants().find(tenant_id).await?.ok_or_else(Problem::not_found)?;
    let row = change.tx.tenants().change(tenant_id, name.as_deref(), *record_checks).await?;
    let row = row.ok_or_else(Problem::not_found)?;
    let told = |name: &str, records: bool| {
        let name = body.name.as_ref().map(|_| ("name".to_owned(), json!(name)));
        let records = body.record_checks.map(|_| ("record_checks".to_owned(), json!(records)));
        Value::Object(name.into_iter().chain(records).collect::<Map<_, _>>())
    };
    let action = if name.is_some() { "tenant.rename" } else { "tenant.update" };
    let object = Object::new("tenant", &tenant_id);
    let (before, after) =
        (told(&before.name, before.record_checks), told(&row.name, row.record_checks));
    change.audit(action, object, Some(before), Some(after)).await?;
    let role = change.caller.role;
    change.answer(StatusCode::OK, &tenants::tenant(row, Some(role))).await
}
