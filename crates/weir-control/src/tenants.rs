//! Tenants.

use axum::extract::State;
use axum::response::Response;
use serde_json::json;
use weir_domain::id::UserId;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_http::problem::Problem;
use weir_store::{MemberRole, TenantRow, Tx};
use weir_wire::page::Page;
use weir_wire::problem::ErrorCode;
use weir_wire::tenants::{DeleteTenant, Role, Tenant};

use crate::actor::{By, InNamespaces, Owner, Person, Viewer};
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Input;
use crate::listing::{List, ListQuery};
use crate::state::ControlState;

pub(crate) mod create;
pub(crate) mod update;

/// The tenants I am a member of.
#[utoipa::path(get, path = "/tenants", operation_id = "tenants_list", tag = "tenants",
    params(ListQuery),
    responses((status = 200, description = "My tenants", body = Page<Tenant>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    person: Person,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Tenant>>, ControlError> {
    let list = List::new(&["tenants", &person.user_id.to_string()], query)?;
    let page = list.page(|key: String| key.parse().ok())?;
    let mut tx = person.begin(&control, "tenants.list").await?;
    let listing = tx.tenants().mine(person.user_id, &page).await?;
    let item = |mine: weir_store::MyTenant| tenant(mine.tenant, Some(mine.role));
    Ok(Json(list.answer(listing, |mine| mine.tenant.id.to_string(), item)))
}

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
    Ok(Json(tenant(row, Some(caller.role))))
}

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

/// A tenant in JSON.
pub(crate) fn tenant(row: TenantRow, role: Option<MemberRole>) -> Tenant {
    Tenant {
        id: row.id.to_string(),
        name: row.name,
        role: role.map(self::role),
        suspended: row.suspended,
        record_checks: row.record_checks,
        customer_attribute: row.customer_attribute,
        enforcement: row.enforced.into(),
        installation_enforcement: row.installation_enforced.into(),
        created_at: row.created_at.into(),
    }
}

/// Refuses another tenant to a person who belongs to as many tenants as permitted. Operators create tenants for others and
/// are exempt.
pub(crate) async fn room_for_one_more(
    control: &ControlState,
    tx: &mut Tx,
    user_id: UserId,
) -> Result<(), ControlError> {
    tx.users().lock(user_id).await?;
    let user = tx.users().find(user_id).await?.ok_or_else(Problem::unauthenticated)?;
    let most = control.settings.tenants_per_person_max;
    if !user.operator && tx.members().count_of(user_id).await? >= most {
        let detail = format!("a person belongs to at most {most} tenants: leave or delete one");
        return Err(Problem::new(ErrorCode::Conflict, detail).into());
    }
    Ok(())
}

/// A role in JSON.
pub(crate) fn role(role: MemberRole) -> Role {
    match role {
        MemberRole::Viewer => Role::Viewer,
        MemberRole::Editor => Role::Editor,
        MemberRole::Admin => Role::Admin,
        MemberRole::Owner => Role::Owner,
    }
}
