//! `GET /tenants/{tenant}/webhooks/{webhook}/deliveries`

use axum::extract::State;
use weir_domain::id::WebhookId;
use weir_http::json::Json;
use weir_http::params::{Path, Query};
use weir_http::problem::Problem;
use weir_wire::page::Page;
use weir_wire::webhooks::Delivery;

use crate::actor::{By, Viewer};
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::state::ControlState;
use crate::webhooks;

/// The deliveries of a webhook with their results, newest first. Retained for thirty days.
#[utoipa::path(get, path = "/tenants/{tenant}/webhooks/{webhook}/deliveries", operation_id = "deliveries_list", tag = "alerts",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("webhook" = String, Path, description = "`webhook_…`"),
        ListQuery,
    ),
    responses((status = 200, description = "The deliveries", body = Page<Delivery>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
    Path((_, webhook)): Path<(String, String)>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Delivery>>, ControlError> {
    let id: WebhookId = webhook.parse().map_err(|_| Problem::not_found())?;
    let list = List::new(&["deliveries", &caller.tenant_id.to_string(), &webhook], query)?;
    let page = list.page(|key: String| key.parse().ok())?;
    let mut tx = control.reading("deliveries.list", &caller).await?;
    tx.webhooks().find(caller.tenant_id, id).await?.ok_or_else(Problem::not_found)?;
    let listing = tx.deliveries().list(caller.tenant_id, id, &page).await?;
    Ok(Json(list.answer(listing, |row| row.id.to_string(), webhooks::delivery)))
}
