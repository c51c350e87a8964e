//! Writes of plans: `POST /tenants/{tenant}/plans`, `PUT` and `DELETE` of one, and its `/revert`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;
use weir_http::params::{Path, Query};
use weir_http::problem::Problem;
use weir_store::PlanSpec;
use weir_wire::audit::RevertBody;
use weir_wire::plans::{PlanAnswer, PlanBody};
use weir_wire::stored::PinnedRevision;

use super::{delete_without_customers, pinned, plan_answer, stored};
use crate::actor::{By, Editor};
use crate::error::ControlError;
use crate::etag::IfMatch;
use crate::input::{Input, Once};
use crate::specs::{self, Authored};
use crate::state::ControlState;

/// The parameters of an edit of a plan.
#[derive(Debug, Clone, Copy, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct UpdateQuery {
    /// Whether the customers that are on the plan keep its present revision. Without it, the new one applies to them at once.
    #[param(default = false)]
    keep_existing: Option<bool>,
}

/// Create a plan. Customers can be assigned to it from the `rulebook_version` in the answer.
#[utoipa::path(post, path = "/tenants/{tenant}/plans", operation_id = "plans_create", tag = "plans",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = PlanBody,
    responses(
        (status = 201, description = "Created", body = PlanAnswer),
        (status = 409, description = "The name is in use, the tenant has reached its limit of plans, or it has no `customer_attribute`"),
    ))]
pub(crate) async fn create(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    input: Input<PlanBody>,
) -> Result<Response, ControlError> {
    specs::create::<PlanSpec>(&control, "plans.create", caller, input).await
}

/// Replace a plan, based on the revision named in `If-Match`. Used units stay used, because the counters are those of the rules.
#[utoipa::path(put, path = "/tenants/{tenant}/plans/{plan}", operation_id = "plans_update", tag = "plans",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("plan" = String, Path, description = "`plan_…`"),
        ("If-Match" = String, Header, description = "The `ETag` last read"),
        UpdateQuery,
    ),
    request_body = PlanBody,
    responses(
        (status = 200, description = "Replaced", body = PlanAnswer,
            headers(("ETag" = String, description = "The revision, for `If-Match`"))),
        (status = 409, description = "The name is in use, or customers keep too many older revisions"),
        (status = 412, description = "Someone else changed this while you were editing"),
        (status = 428, description = "`If-Match` is missing"),
    ))]
pub(crate) async fn update(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    Path((_, plan)): Path<(String, String)>,
    Query(query): Query<UpdateQuery>,
    if_match: IfMatch,
    input: Input<PlanBody>,
) -> Result<Response, ControlError> {
    if query.keep_existing != Some(true) {
        return specs::update::<PlanSpec>(&control, "plans.update", caller, &plan, if_match, input)
            .await;
    }
    let id = specs::parsed(&plan)?;
    let checked = PlanSpec::check(input.body)?;
    let mut change = control.change("plans.update", caller, input.once).await?;
    let before = specs::find::<PlanSpec>(&mut change.tx, &change.caller, id).await?;
    let expected = if_match.required()?;
    let mut pinned = pinned(&before)?;
    let tenant_id = change.caller.tenant_id;
    if change.tx.assignments().pin_revision(tenant_id, id, before.revision).await? > 0 {
        let PlanBody { rules, .. } =
            serde_json::from_value(before.spec.clone()).map_err(Problem::internal)?;
        let revision = u32::try_from(before.revision).map_err(Problem::internal)?;
        pinned.push(PinnedRevision { revision, rules });
    }
    let body = stored(&mut change, &checked, pinned).await?;
    let row = specs::replace_stored(&mut change, "update", &before, body, expected, None).await?;
    change.answer(StatusCode::OK, &plan_answer(&row)?).await
}

/// Delete a plan. One that customers are on, or will be, is not deleted.
#[utoipa::path(delete, path = "/tenants/{tenant}/plans/{plan}", operation_id = "plans_delete", tag = "plans",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("plan" = String, Path, description = "`plan_…`"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` last read; without it any revision is deleted"),
    ),
    responses(
        (status = 204, description = "Deleted"),
        (status = 409, description = "Customers are on the plan, or will be"),
        (status = 412, description = "Someone else changed this while you were editing"),
    ))]
pub(crate) async fn delete(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    Path((_, plan)): Path<(String, String)>,
    if_match: IfMatch,
) -> Result<Response, ControlError> {
    let id = specs::parsed(&plan)?;
    let expected = if_match.optional()?;
    let mut change = control.change("plans.delete", caller, Once::not_stored()).await?;
    let row = specs::find::<PlanSpec>(&mut change.tx, &change.caller, id).await?;
    delete_without_customers(&mut change, &row, expected).await?;
    change.done().await
}

/// Restore an older revision, as a new revision. It applies to all customers that do not keep an older one.
#[utoipa::path(post, path = "/tenants/{tenant}/plans/{plan}/revert", operation_id = "plans_revert", tag = "plans",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("plan" = String, Path, description = "`plan_…`"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` last read; without it the present revision is reverted"),
    ),
    request_body = RevertBody,
    responses(
        (status = 200, description = "Reverted", body = PlanAnswer,
            headers(("ETag" = String, description = "The revision, for `If-Match`"))),
        (status = 409, description = "The name is in use"),
        (status = 412, description = "Someone else changed this while you were editing"),
    ))]
pub(crate) async fn revert(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    Path((_, plan)): Path<(String, String)>,
    if_match: IfMatch,
    input: Input<RevertBody>,
) -> Result<Response, ControlError> {
    specs::revert::<PlanSpec>(&control, "plans.revert", caller, &plan, if_match, input).await
}
