//! `PATCH /tenants/{tenant}`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value, json};
use weir_http::problem::Problem;
use weir_store::TenantRow;
use weir_wire::tenants::{Enforcement, Tenant, UpdateTenant};

use crate::actor::{Admin, By};
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Input;
use crate::state::ControlState;
use crate::{names, tenants};

/// Rename a tenant, or turn the recording of its checks or its limits on or off; omitted fields are unchanged.
///
/// With `"enforcement": "off"` every gate allows every check of the tenant, within a second, and takes nothing. What was
/// recorded until recording is turned off stays for its day.
#[utoipa::path(patch, path = "/tenants/{tenant}", operation_id = "tenants_update", tag = "tenants",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = UpdateTenant,
    responses((status = 200, description = "Changed", body = Tenant)))]
pub(crate) async fn update(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Input { body, once }: Input<UpdateTenant>,
) -> Result<Response, ControlError> {
    let UpdateTenant { name, record_checks, enforcement } = &body;
    match name {
        Some(name) => names::name("name", name)?,
        None if record_checks.is_none() && enforcement.is_none() => {
            return Err(Problem::invalid_field("body", "must name something to change").into());
        }
        None => {}
    }
    let mut change = control.change("tenants.update", caller, once).await?;
    let tenant_id = change.caller.tenant_id;
    let before = change.tx.tenants().find(tenant_id).await?.ok_or_else(Problem::not_found)?;
    let enforced = enforcement.map(Enforcement::is_on);
    let tenants_table = change.tx.tenants();
    let row = tenants_table.change(tenant_id, name.as_deref(), *record_checks, enforced).await?;
    let row = row.ok_or_else(Problem::not_found)?;
    let changed = |row: &TenantRow| {
        let mut fields = Map::new();
        if body.name.is_some() {
            fields.insert("name".to_owned(), json!(row.name));
        }
        if body.record_checks.is_some() {
            fields.insert("record_checks".to_owned(), json!(row.record_checks));
        }
        if body.enforcement.is_some() {
            fields.insert("enforcement".to_owned(), json!(Enforcement::from(row.enforced)));
        }
        Value::Object(fields)
    };
    let action = match (enforcement, name) {
        (Some(_), _) => "tenant.enforcement",
        (None, Some(_)) => "tenant.rename",
        (None, None) => "tenant.update",
    };
    let object = Object::new("tenant", &tenant_id);
    change.audit(action, object, Some(changed(&before)), Some(changed(&row)));
    let role = change.caller.role;
    change.answer(StatusCode::OK, &tenants::tenant(row, Some(role))).await
}
