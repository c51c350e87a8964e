//! `GET /tenants/{tenant}/invitations`

use axum::extract::State;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_wire::members::Invitation;
use weir_wire::page::Page;

use crate::actor::{By, Viewer};
use crate::error::ControlError;
use crate::invitations;
use crate::listing::{List, ListQuery};
use crate::state::ControlState;

/// The invitations that can still be accepted, newest first.
#[utoipa::path(get, path = "/tenants/{tenant}/invitations", operation_id = "invitations_list", tag = "members",
    params(("tenant" = String, Path, description = "`tenant_…`"), ListQuery),
    responses((status = 200, description = "The invitations", body = Page<Invitation>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Invitation>>, ControlError> {
    let list = List::new(&["invitations", &caller.tenant_id.to_string()], query)?;
    let page = list.page(|key: String| key.parse().ok())?;
    let mut tx = control.reading("invitations.list", &caller).await?;
    let now = control.clock.now();
    let listing = tx.invitations().list_open(caller.tenant_id, now, &page).await?;
    Ok(Json(list.answer(listing, |row| row.id.to_string(), invitations::invitation)))
}
