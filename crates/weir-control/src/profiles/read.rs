//! Reads of profiles: `GET /tenants/{tenant}/profiles`, of one of them, and of its `/revisions`

use axum::extract::State;
use axum::response::Response;
use weir_http::json::Json;
use weir_http::params::{Path, Query};
use weir_store::ProfileSpec;
use weir_wire::audit::Revision;
use weir_wire::page::Page;
use weir_wire::profiles::ProfileAnswer;

use crate::actor::{By, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::profiles::profile_answer;
use crate::specs;
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

/// One profile; its revision is also the `ETag`.
#[utoipa::path(get, path = "/tenants/{tenant}/profiles/{profile}", operation_id = "profiles_read", tag = "profiles",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("profile" = String, Path, description = "`profile_…`"),
    ),
    responses((status = 200, description = "The profile", body = ProfileAnswer,
        headers(("ETag" = String, description = "The revision, for `If-Match`")))))]
pub(crate) async fn read(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Path((_, profile)): Path<(String, String)>,
) -> Result<Response, ControlError> {
    specs::read::<ProfileSpec>(&control, "profiles.read", &caller, &profile).await
}

/// The revisions of a profile with author, time, and content before and after; newest first.
#[utoipa::path(get, path = "/tenants/{tenant}/profiles/{profile}/revisions", operation_id = "profiles_revisions", tag = "profiles",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("profile" = String, Path, description = "`profile_…`"),
        ListQuery,
    ),
    responses((status = 200, description = "The revisions", body = Page<Revision>)))]
pub(crate) async fn revisions(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Path((_, profile)): Path<(String, String)>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Revision>>, ControlError> {
    specs::revisions::<ProfileSpec>(&control, "profiles.revisions", &caller, &profile, query).await
}
