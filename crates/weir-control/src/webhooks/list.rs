//! `GET /tenants/{tenant}/webhooks`

use std::collections::HashMap;

use axum::extract::State;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_store::{MemberRole, WebhookRow};
use weir_wire::page::Page;
use weir_wire::webhooks::Webhook;

use crate::actor::{By, Viewer};
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::state::ControlState;
use crate::webhooks;

/// The tenant's webhooks, newest first, without their secrets. Callers below the role `editor` see only the scheme,
/// host and port of the address.
#[utoipa::path(get, path = "/tenants/{tenant}/webhooks", operation_id = "webhooks_list", tag = "alerts",
    params(("tenant" = String, Path, description = "`tenant_…`"), ListQuery),
    responses((status = 200, description = "The webhooks", body = Page<Webhook>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Webhook>>, ControlError> {
    let list = List::new(&["webhooks", &caller.tenant_id.to_string()], query)?;
    let page = list.page(|key: String| key.parse().ok())?;
    let mut tx = control.reading("webhooks.list", &caller).await?;
    let listing = tx.webhooks().list(caller.tenant_id, &page).await?;
    let ids: Vec<_> = listing.items.iter().map(|row| row.id).collect();
    let health = tx.webhooks().health(caller.tenant_id, &ids).await?;
    let mut health: HashMap<_, _> = health.into_iter().map(|row| (row.id, row)).collect();
    let shown = caller.role >= MemberRole::Editor;
    let item = |row: WebhookRow| {
        let health = health.remove(&row.id).map(webhooks::health);
        let webhook = if shown { webhooks::webhook(row) } else { webhooks::masked(row) };
        Webhook { health, ..webhook }
    };
    Ok(Json(list.answer(listing, |row| row.id.to_string(), item)))
}
