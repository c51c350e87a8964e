//! `GET /operator/tenants`

use axum::extract::State;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_wire::page::Page;
use weir_wire::tenants::Tenant;

use crate::actor::Operator;
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::state::ControlState;
use crate::tenants;

/// All tenants; for operators.
#[utoipa::path(get, path = "/operator/tenants", operation_id = "operator_tenants_list", tag = "operator",
    params(ListQuery),
    responses(
        (status = 200, description = "All tenants", body = Page<Tenant>),
        (status = 404, description = "The caller is not an operator"),
    ))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    Operator(person): Operator,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Tenant>>, ControlError> {
    let list = List::new(&["operator.tenants"], query)?;
    let page = list.page(|key: String| key.parse().ok())?;
    let mut tx = person.begin(&control, "operator.tenants").await?;
    let listing = tx.tenants().all(&page).await?;
    let item = |row| tenants::tenant(row, None);
    Ok(Json(list.answer(listing, |row| row.id.to_string(), item)))
}
