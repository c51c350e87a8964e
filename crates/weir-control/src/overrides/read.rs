//! `GET /tenants/{tenant}/overrides/{override}`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::id::OverrideId;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_wire::overrides::OverrideAnswer;

use crate::actor::{By, InNamespaces, Viewer};
use crate::answers::{answer, to_value};
use crate::error::ControlError;
use crate::overrides::{self, override_answer};
use crate::state::ControlState;

/// One override; its revision is also the `ETag`.
#[utoipa::path(get, path = "/tenants/{tenant}/overrides/{override}", operation_id = "overrides_read", tag = "overrides",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("override" = String, Path, description = "`override_…`"),
    ),
    responses((status = 200, description = "The override", body = OverrideAnswer,
        headers(("ETag" = String, description = "The revision, for `If-Match`")))))]
pub(crate) async fn read(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Path((_, id)): Path<(String, String)>,
) -> Result<Response, ControlError> {
    let id: OverrideId = id.parse().map_err(|_| Problem::not_found())?;
    let mut tx = control.reading("overrides.read", &caller).await?;
    let row = tx.overrides().find(caller.tenant_id, id).await?.ok_or_else(Problem::not_found)?;
    overrides::admit(&mut tx, &caller, &row).await?;
    Ok(answer(StatusCode::OK, &to_value(&override_answer(&row)?)?))
}
