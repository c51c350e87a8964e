//! `GET /tenants/{tenant}/deferred`

use axum::extract::State;
use weir_http::json::Json;
use weir_redis::deferred::{WAITING_BYTES_MAX, WAITING_MAX};
use weir_wire::deferred::DeferredUse;

use crate::actor::{By, Viewer};
use crate::deferred;
use crate::error::ControlError;
use crate::state::ControlState;

/// The usage of the queue of deferred jobs.
#[utoipa::path(get, path = "/tenants/{tenant}/deferred", operation_id = "deferred_read", tag = "deferred jobs",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    responses((status = 200, description = "The numbers of jobs", body = DeferredUse)))]
pub(crate) async fn read(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
) -> Result<Json<DeferredUse>, ControlError> {
    let found = control.deferred.failed(caller.tenant_id, None, 1).await;
    let (_, usage) = found.map_err(deferred::unavailable)?;
    Ok(Json(DeferredUse {
        waiting: usage.waiting,
        waiting_max: WAITING_MAX,
        bytes: usage.bytes,
        bytes_max: WAITING_BYTES_MAX,
        failed: usage.failed,
    }))
}
