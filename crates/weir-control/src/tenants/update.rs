//! `PATCH /tenants/{tenant}`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value, json};
use weir_http::problem::Problem;
use weir_store::TenantRow;
use weir_wire::problem::ErrorCode;
use weir_wire::tenants::{Enforcement, Tenant, UpdateTenant};

use crate::actor::{Admin, By};
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Input;
use crate::state::ControlState;
use crate::{names, tenants};

/// Rename a tenant, turn the recording of its checks or its limits on or off, or name the attribute of its own customers; omitted
/// fields are unchanged.
///
/// With `"enforcement": "off"` every gate allows every check of the tenant, within a second, and takes nothing. What was
/// recorded until recording is turned off stays for its day.
#[utoipa::path(patch, path = "/tenants/{tenant}", operation_id = "tenants_update", tag = "tenants",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = UpdateTenant,
    responses(
        (status = 200, description = "Changed", body = Tenant),
        (status = 409, description = "The customer attribute changes, and the tenant has plans"),
    ))]
pub(crate) async fn update(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Input { body, once }: Input<UpdateTenant>,
) -> Result<Response, ControlError> {
    let UpdateTenant { name, record_checks, customer_attribute, enforcement } = &body;
    if body == UpdateTenant::default() {
        return Err(Problem::invalid_field("body", "must name something to change").into());
    }
    if let Some(name) = name {
        names::name("name", name)?;
    }
    let customer_attribute = customer_attribute.as_ref().map(Option::as_deref);
    if let Some(Err(reason)) = customer_attribute.flatten().map(weir_domain::names::attribute) {
        return Err(Problem::invalid_field("customer_attribute", reason).into());
    }
    let mut change = control.change("tenants.update", caller, once).await?;
    let tenant_id = change.caller.tenant_id;
    let before = change.tx.tenants().find(tenant_id).await?.ok_or_else(Problem::not_found)?;
    if customer_attribute.is_some_and(|new| new != before.customer_attribute.as_deref()) {
        let users = if change.tx.plans().count(tenant_id).await? > 0 {
            Some("plans")
        } else {
            change.tx.alerts().name_customers(tenant_id).await?.then_some("alerts")
        };
        if let Some(users) = users {
            let detail = format!(
                "the tenant has {users}, whose customers the attribute names; delete them first"
            );
            return Err(Problem::new(ErrorCode::Conflict, detail).into());
        }
    }
    let enforced = enforcement.map(Enforcement::is_on);
    let tenants_table = change.tx.tenants();
    let name = name.as_deref();
    let row = tenants_table.change(tenant_id, name, *record_checks, enforced, customer_attribute);
    let row = row.await?.ok_or_else(Problem::not_found)?;
    let changed = |row: &TenantRow| {
        let mut fields = Map::new();
        if body.name.is_some() {
            fields.insert("name".to_owned(), json!(row.name));
        }
        if body.record_checks.is_some() {
            fields.insert("record_checks".to_owned(), json!(row.record_checks));
        }
        if body.customer_attribute.is_some() {
            fields.insert("customer_attribute".to_owned(), json!(row.customer_attribute));
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
