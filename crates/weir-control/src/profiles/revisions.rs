//! `GET /tenants/{tenant}/profiles/{profile}/revisions`

use axum::extract::State;
use weir_domain::id::ProfileId;
use weir_http::json::Json;
use weir_http::params::{Path, Query};
use weir_http::problem::Problem;
use weir_wire::audit::Revision;
use weir_wire::page::Page;

use crate::actor::{By, InNamespaces, Viewer};
use crate::audit::revision;
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::profiles::admit;
use crate::state::ControlState;

/// The revisions of a profile with author, time, and content before and after; newest first.
#[utoipa::path(get, path = "/tenants/{tenant}/profiles/{profile}/revisions", operation_id = "profiles_revisions", tag = "profiles",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("profile" = String, Path, description = "`profile_…`"),
        ListQuery,
    ),
    responses((status = 200, description = "The revisions", body = Page<Revision>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Path((_, profile)): Path<(String, String)>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Revision>>, ControlError> {
    let id: ProfileId = profile.parse().map_err(|_| Problem::not_found())?;
    let list = List::new(&["profile revisions", &profile], query)?;
    let page = list.page(Some::<u64>)?;
    let mut tx = control.reading("profiles.revisions", &caller).await?;
    let tenant_id = caller.tenant_id;
    let row = tx.profiles().find(tenant_id, id).await?.ok_or_else(Problem::not_found)?;
    admit(&caller, &row)?;
    let listing = tx.profiles().revisions(tenant_id, id, &page).await?;
    Ok(Json(list.answer(listing, |row| row.revision, revision)))
}
