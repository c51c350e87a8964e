//! `GET /tenants/{tenant}/namespaces`

use axum::extract::State;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_wire::namespaces::NamespaceAnswer;
use weir_wire::page::Page;

use crate::actor::{By, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::namespaces::answer_of;
use crate::state::ControlState;

/// The tenant's namespaces that have rules or settings, by name.
#[utoipa::path(get, path = "/tenants/{tenant}/namespaces", operation_id = "namespaces_list", tag = "namespaces",
    params(("tenant" = String, Path, description = "`tenant_…`"), ListQuery),
    responses((status = 200, description = "The namespaces", body = Page<NamespaceAnswer>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<NamespaceAnswer>>, ControlError> {
    let tenant_id = caller.tenant_id;
    let only = caller.namespaces.only();
    let list = List::new(&["namespaces", &tenant_id.to_string(), &format!("{only:?}")], query)?;
    let page = list.page(Some::<String>)?;
    let mut tx = control.reading("namespaces.list", &caller).await?;
    let listing = tx.namespaces().list(tenant_id, only, &page).await?;
    Ok(Json(list.answer(listing, |row| row.name.clone(), answer_of)))
}
