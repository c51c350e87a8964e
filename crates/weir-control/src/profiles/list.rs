//! `GET /tenants/{tenant}/profiles`

use axum::extract::State;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_wire::page::Page;
use weir_wire::profiles::ProfileAnswer;

use crate::actor::{By, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::profiles::profile_answer;
use crate::state::ControlState;

/// The tenant's profiles, by name.
#[utoipa::path(get, path = "/tenants/{tenant}/profiles", operation_id = "profiles_list", tag = "profiles",
    params(("tenant" = String, Path, description = "`tenant_…`"), ListQuery),
    responses((status = 200, description = "The profiles", body = Page<ProfileAnswer>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<ProfileAnswer>>, ControlError> {
    let tenant_id = caller.tenant_id;
    let only = caller.namespaces.only();
    let list = List::new(&["profiles", &tenant_id.to_string(), &format!("{only:?}")], query)?;
    let page = list.page(Some::<String>)?;
    let mut tx = control.reading("profiles.list", &caller).await?;
    let listing = tx.profiles().list(tenant_id, only, &page).await?;
    let page = list.answer(listing, |row| row.name.clone(), |row| profile_answer(&row));
    let data = page.data.into_iter().collect::<Result<_, _>>()?;
    Ok(Json(Page { data, next_cursor: page.next_cursor }))
}
