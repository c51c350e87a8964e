//! `DELETE /tenants/{tenant}/deferred/{deferred}`

use axum::extract::State;
use axum::http::StatusCode;
use weir_http::params::Path;
use weir_http::problem::Problem;

use crate::actor::{By, Editor};
use crate::change::Object;
use crate::deferred;
use crate::error::ControlError;
use crate::input::Once;
use crate::state::ControlState;

/// Delete a dead letter. The audit log gets its entry before the dead letter is deleted.
#[utoipa::path(delete, path = "/tenants/{tenant}/deferred/{deferred}", operation_id = "deferred_delete", tag = "deferred jobs",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("deferred" = String, Path, description = "`deferred_…`"),
    ),
    responses((status = 204, description = "Deleted")))]
pub(crate) async fn delete(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    Path((_, id)): Path<(String, String)>,
) -> Result<StatusCode, ControlError> {
    let id = deferred::parse(&id)?;
    let tenant = caller.tenant_id;
    let found = control.deferred.find(tenant, id).await.map_err(deferred::unavailable)?;
    found.filter(|job| job.state.state == "failed").ok_or_else(Problem::not_found)?;
    let mut change = control.change("deferred.delete", caller, Once::not_stored()).await?;
    change.audit("deferred.delete", Object::new("deferred", &id), None, None);
    change.done().await?;
    if control.deferred.remove_failed(tenant, id).await.map_err(deferred::unavailable)? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Problem::not_found().into())
    }
}
