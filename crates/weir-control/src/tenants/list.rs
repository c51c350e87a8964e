//! `GET /tenants`

use axum::extract::State;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_wire::page::Page;
use weir_wire::tenants::Tenant;

use crate::actor::Person;
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::state::ControlState;
use crate::tenants;

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
    let item = |mine: weir_store::MyTenant| tenants::tenant(mine.tenant, Some(mine.role));
    Ok(Json(list.answer(listing, |mine| mine.tenant.id.to_string(), item)))
}
