//! `GET /tenants/{tenant}/keys`

use axum::extract::State;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_store::KeyRow;
use weir_wire::api_keys::ApiKey;
use weir_wire::page::Page;

use crate::actor::{By, Viewer};
use crate::api_keys;
use crate::api_keys::requests::Requests;
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::state::ControlState;

/// The tenant's API keys, newest first, without their secrets.
#[utoipa::path(get, path = "/tenants/{tenant}/keys", operation_id = "keys_list", tag = "keys",
    params(("tenant" = String, Path, description = "`tenant_…`"), ListQuery),
    responses((status = 200, description = "The keys", body = Page<ApiKey>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<ApiKey>>, ControlError> {
    let list = List::new(&["keys", &caller.tenant_id.to_string()], query)?;
    let page = list.page(|key: String| key.parse().ok())?;
    let mut tx = control.reading("keys.list", &caller).await?;
    let listing = tx.keys().list(caller.tenant_id, &page).await?;
    // A person is named by an e-mail address. The names of keys contain a space.
    let makers = listing.items.iter().map(|row| row.created_by.to_lowercase());
    let makers: Vec<_> =
        makers.filter(|maker| maker.contains('@') && !maker.contains(' ')).collect();
    let members = tx.members().emails_of(caller.tenant_id, &makers).await?;
    let keys: Vec<_> = listing.items.iter().map(|row| row.id).collect();
    let requests = Requests::read(&mut tx, &caller, &keys, control.clock.now()).await?;
    let item = |row: KeyRow| {
        let maker = row.created_by.to_lowercase();
        let former = makers.contains(&maker) && !members.contains(&maker);
        let requests = Some(requests.of(row.id));
        ApiKey { created_by_former_member: former, requests, ..api_keys::key(row) }
    };
    Ok(Json(list.answer(listing, |row| row.id.to_string(), item)))
}
