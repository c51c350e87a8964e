//! `GET /tenants/{tenant}/profiles/{profile}`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::id::ProfileId;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_wire::profiles::ProfileAnswer;

use crate::actor::{By, InNamespaces, Viewer};
use crate::answers::{answer, to_value};
use crate::error::ControlError;
use crate::profiles::{admit, profile_answer};
use crate::state::ControlState;

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
    Path((_, id)): Path<(String, String)>,
) -> Result<Response, ControlError> {
    let id: ProfileId = id.parse().map_err(|_| Problem::not_found())?;
    let mut tx = control.reading("profiles.read", &caller).await?;
    let row = tx.profiles().find(caller.tenant_id, id).await?.ok_or_else(Problem::not_found)?;
    admit(&caller, &row)?;
    Ok(answer(StatusCode::OK, &to_value(&profile_answer(&row)?)?))
}
