//! `GET /tenants/{tenant}/alerts`

use axum::extract::State;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_wire::alerts::Alert;
use weir_wire::page::Page;

use crate::actor::{By, Viewer};
use crate::alerts;
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::state::ControlState;

/// The tenant's alerts, newest first.
#[utoipa::path(get, path = "/tenants/{tenant}/alerts", operation_id = "alerts_list", tag = "alerts",
    params(("tenant" = String, Path, description = "`tenant_…`"), ListQuery),
    responses((status = 200, description = "The alerts", body = Page<Alert>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Alert>>, ControlError> {
    let list = List::new(&["alerts", &caller.tenant_id.to_string()], query)?;
    let page = list.page(|key: String| key.parse().ok())?;
    let mut tx = control.reading("alerts.list", &caller).await?;
    let listing = tx.alerts().list(caller.tenant_id, &page).await?;
    Ok(Json(list.answer(listing, |row| row.id.to_string(), alerts::alert)))
}
