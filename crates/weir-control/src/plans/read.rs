//! Reads of plans: `GET /tenants/{tenant}/plans`, of one of them, and of its `/revisions`

use axum::extract::State;
use axum::response::Response;
use weir_http::json::Json;
use weir_http::params::{Path, Query};
use weir_store::PlanSpec;
use weir_wire::audit::Revision;
use weir_wire::page::Page;
use weir_wire::plans::PlanAnswer;

use crate::actor::{By, Viewer};
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::plans::plan_answer;
use crate::specs;
use crate::state::ControlState;

/// The tenant's plans, by name.
#[utoipa::path(get, path = "/tenants/{tenant}/plans", operation_id = "plans_list", tag = "plans",
    params(("tenant" = String, Path, description = "`tenant_…`"), ListQuery),
    responses((status = 200, description = "The plans", body = Page<PlanAnswer>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<PlanAnswer>>, ControlError> {
    let tenant_id = caller.tenant_id;
    let list = List::new(&["plans", &tenant_id.to_string()], query)?;
    let page = list.page(Some::<String>)?;
    let mut tx = control.reading("plans.list", &caller).await?;
    let listing = tx.plans().list(tenant_id, &page).await?;
    let page = list.answer(listing, |row| row.name.clone(), |row| plan_answer(&row));
    let data = page.data.into_iter().collect::<Result<_, _>>()?;
    Ok(Json(Page { data, next_cursor: page.next_cursor }))
}

/// One plan; its revision is also the `ETag`.
#[utoipa::path(get, path = "/tenants/{tenant}/plans/{plan}", operation_id = "plans_read", tag = "plans",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("plan" = String, Path, description = "`plan_…`"),
    ),
    responses((status = 200, description = "The plan", body = PlanAnswer,
        headers(("ETag" = String, description = "The revision, for `If-Match`")))))]
pub(crate) async fn read(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
    Path((_, plan)): Path<(String, String)>,
) -> Result<Response, ControlError> {
    specs::read::<PlanSpec>(&control, "plans.read", &caller, &plan).await
}

/// The revisions of a plan with author, time, and content before and after; newest first.
#[utoipa::path(get, path = "/tenants/{tenant}/plans/{plan}/revisions", operation_id = "plans_revisions", tag = "plans",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("plan" = String, Path, description = "`plan_…`"),
        ListQuery,
    ),
    responses((status = 200, description = "The revisions", body = Page<Revision>)))]
pub(crate) async fn revisions(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
    Path((_, plan)): Path<(String, String)>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Revision>>, ControlError> {
    specs::revisions::<PlanSpec>(&control, "plans.revisions", &caller, &plan, query).await
}
