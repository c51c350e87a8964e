//! `DELETE /tenants/{tenant}/alerts/{alert}`

use axum::extract::State;
use axum::response::Response;
use weir_domain::id::AlertId;
use weir_http::params::Path;
use weir_http::problem::Problem;

use crate::actor::{By, Editor};
use crate::alerts;
use crate::answers::to_value;
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::input::Once;
use crate::state::ControlState;

/// Delete an alert.
#[utoipa::path(delete, path = "/tenants/{tenant}/alerts/{alert}", operation_id = "alerts_delete", tag = "alerts",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("alert" = String, Path, description = "`alert_…`"),
    ),
    responses((status = 204, description = "Deleted")))]
pub(crate) async fn delete(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    Path((_, alert)): Path<(String, String)>,
) -> Result<Response, ControlError> {
    let id: AlertId = alert.parse().map_err(|_| Problem::not_found())?;
    let mut change = control.change("alerts.delete", caller, Once::not_stored()).await?;
    delete_stored(&mut change, id).await?;
    change.done().await
}

/// Deletes an alert and records it in the audit log.
pub(crate) async fn delete_stored(change: &mut Change, id: AlertId) -> Result<(), ControlError> {
    let row = change.tx.alerts().delete(change.caller.tenant_id, id).await?;
    let before = to_value(&alerts::alert(row.ok_or_else(Problem::not_found)?))?;
    change.audit("alert.delete", Object::new("alert", &id), Some(before), None);
    Ok(())
}
