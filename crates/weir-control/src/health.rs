//! `GET /healthz` and `GET /readyz`

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::StoreError;

use crate::error::ControlError;
use crate::state::ControlState;

/// The health of a control plane.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok`; anything else comes as a problem.
    #[schema(example = "ok")]
    status: &'static str,
}

/// Whether the process is alive. Nothing else is checked.
#[utoipa::path(get, path = "/healthz", operation_id = "healthz", tag = "health", security(()),
    responses((status = 200, description = "Alive", body = Health)))]
pub(crate) async fn healthz() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Whether the database answers, and has every migration of this release.
#[utoipa::path(get, path = "/readyz", operation_id = "readyz", tag = "health", security(()),
    responses((status = 200, description = "Ready", body = Health)))]
pub(crate) async fn readyz(
    State(control): State<ControlState>,
) -> Result<Json<Health>, ControlError> {
    match control.store.assert_schema().await {
        Ok(()) => Ok(Json(Health { status: "ok" })),
        Err(error @ (StoreError::OlderSchema(_) | StoreError::FormerSchema)) => Err(error.into()),
        Err(error) => {
            let detail = "the database is temporarily unavailable";
            Err(Problem::unavailable(detail).caused_by(error).into())
        }
    }
}
