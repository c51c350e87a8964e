//! The views of lists that the members of a tenant share in the dashboard.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};
use weir_http::problem::Problem;
use weir_store::{StoreError, ViewsRow};
use weir_wire::views::{SavedView, ViewsAnswer, ViewsBody};

use crate::actor::{By, Editor, Viewer};
use crate::answers::{answer, to_value};
use crate::change::Object;
use crate::error::ControlError;
use crate::etag::IfMatch;
use crate::input::Input;
use crate::state::ControlState;

/// The views of lists that the members share; the revision is also the `ETag`.
#[utoipa::path(get, path = "/tenants/{tenant}/views", operation_id = "views_read", tag = "tenants",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    responses((status = 200, description = "The views", body = ViewsAnswer,
        headers(("ETag" = String, description = "The revision, for `If-Match`")))))]
pub(crate) async fn read(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
) -> Result<Response, ControlError> {
    let mut tx = control.reading("views.read", &caller).await?;
    let row = tx.views().find(caller.tenant_id).await?;
    Ok(answer(StatusCode::OK, &to_value(&answer_of(row)?)?))
}

/// Replace the views, based on the revision named in `If-Match`: `"0"` the first time.
#[utoipa::path(put, path = "/tenants/{tenant}/views", operation_id = "views_update", tag = "tenants",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("If-Match" = String, Header, description = "The `ETag` last read"),
    ),
    request_body = ViewsBody,
    responses(
        (status = 200, description = "Replaced", body = ViewsAnswer,
            headers(("ETag" = String, description = "The revision, for `If-Match`"))),
        (status = 412, description = "Someone else changed this while you were editing"),
        (status = 428, description = "`If-Match` is missing"),
    ))]
pub(crate) async fn update(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    if_match: IfMatch,
    Input { body, once }: Input<ViewsBody>,
) -> Result<Response, ControlError> {
    let views = body.parse().map_err(Problem::invalid)?;
    let mut change = control.change("views.update", caller, once).await?;
    let expected = if_match.required()?;
    let tenant_id = change.caller.tenant_id;
    let before = change.tx.views().find(tenant_id).await?;
    if before.revision != expected {
        return Err(StoreError::Stale.into());
    }
    let after = to_value(&views)?;
    let revision = change.tx.views().set(tenant_id, &after, change.now).await?;
    let object = Object::new("views", &"shared");
    let before = answer_of(before)?.views;
    change.audit("views.update", object, Some(names(&before)), Some(names(&views)));
    change.answer(StatusCode::OK, &ViewsAnswer { views, revision }).await
}

/// The names of views, for the audit log.
fn names(views: &[SavedView]) -> Value {
    let names = views.iter().map(|view| format!("{}: {}", view.list, view.name));
    json!({ "views": names.collect::<Vec<_>>() })
}

fn answer_of(row: ViewsRow) -> Result<ViewsAnswer, Problem> {
    let views = serde_json::from_value(row.views).map_err(Problem::internal)?;
    Ok(ViewsAnswer { views, revision: row.revision })
}
