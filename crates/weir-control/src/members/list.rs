//! `GET /tenants/{tenant}/members`

use axum::extract::State;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_wire::members::Member;
use weir_wire::page::Page;

use crate::actor::{By, Viewer};
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::members;
use crate::state::ControlState;

/// The members of the tenant.
#[utoipa::path(get, path = "/tenants/{tenant}/members", operation_id = "members_list", tag = "members",
    params(("tenant" = String, Path, description = "`tenant_…`"), ListQuery),
    responses((status = 200, description = "The members", body = Page<Member>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Member>>, ControlError> {
    let list = List::new(&["members", &caller.tenant_id.to_string()], query)?;
    let page = list.page(|key: String| key.parse().ok())?;
    let mut tx = control.reading("members.list", &caller).await?;
    let listing = tx.members().list(caller.tenant_id, &page).await?;
    Ok(Json(list.answer(listing, |row| row.user_id.to_string(), members::member)))
}
