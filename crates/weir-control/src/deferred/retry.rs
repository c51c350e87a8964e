//! `POST /tenants/{tenant}/deferred/{deferred}/retry`

use axum::extract::State;
use axum::http::StatusCode;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_redis::deferred::Stored;
use weir_wire::problem::ErrorCode;

use crate::actor::{By, Editor};
use crate::change::Object;
use crate::deferred;
use crate::error::ControlError;
use crate::input::Once;
use crate::state::ControlState;

/// Requeue a dead letter behind the jobs of its subject, for its original wait. If it was charged, it is not charged
/// again. The audit log gets its entry before the job is queued.
#[utoipa::path(post, path = "/tenants/{tenant}/deferred/{deferred}/retry", operation_id = "deferred_retry", tag = "deferred jobs",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("deferred" = String, Path, description = "`deferred_…`"),
    ),
    responses(
        (status = 202, description = "Queued"),
        (status = 409, description = "The queue is full"),
    ))]
pub(crate) async fn retry(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    Path((_, id)): Path<(String, String)>,
) -> Result<StatusCode, ControlError> {
    let id = deferred::parse(&id)?;
    let tenant = caller.tenant_id;
    let found = control.deferred.find(tenant, id).await.map_err(deferred::unavailable)?;
    found.filter(|job| job.state.state == "failed").ok_or_else(Problem::not_found)?;
    let mut change = control.change("deferred.retry", caller, Once::not_stored()).await?;
    change.audit("deferred.retry", Object::new("deferred", &id), None, None);
    change.done().await?;
    match control.deferred.retry(tenant, id).await.map_err(deferred::unavailable)? {
        Some(Stored::Full) => {
            let detail = "the queue of deferred jobs is full; retry the job when others have ended";
            Err(Problem::new(ErrorCode::Conflict, detail).into())
        }
        Some(_) => Ok(StatusCode::ACCEPTED),
        None => Err(Problem::not_found().into()),
    }
}
