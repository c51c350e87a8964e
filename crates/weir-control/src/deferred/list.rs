//! `GET /tenants/{tenant}/deferred/failed`

use axum::extract::State;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_store::Listing;
use weir_wire::deferred::DeadLetter;
use weir_wire::page::Page;

use crate::actor::{By, Viewer};
use crate::deferred;
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::state::ControlState;

/// The dead letters: deferred jobs that were not delivered in time, newest first. Stored for a week, the newest 1,000.
#[utoipa::path(get, path = "/tenants/{tenant}/deferred/failed", operation_id = "deferred_list", tag = "deferred jobs",
    params(("tenant" = String, Path, description = "`tenant_…`"), ListQuery),
    responses((status = 200, description = "The dead letters", body = Page<DeadLetter>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<DeadLetter>>, ControlError> {
    let list = List::new(&["deferred", &caller.tenant_id.to_string()], query)?;
    let page = list.page(|key: String| key.parse().ok())?;
    let most = page.limit as usize;
    // One more shows whether there is another page.
    let found = control.deferred.failed(caller.tenant_id, page.after, most + 1).await;
    let (mut items, _) = found.map_err(deferred::unavailable)?;
    let more = items.len() > most;
    items.truncate(most);
    let listing = Listing { items, more };
    Ok(Json(list.answer(listing, |job| job.id.to_string(), deferred::dead_letter)))
}
