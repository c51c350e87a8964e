//! `PUT /tenants/{tenant}/alerts/{alert}`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::id::AlertId;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_store::AlertRow;
use weir_wire::alerts::{Alert, AlertBody};

use crate::actor::{By, Editor};
use crate::alerts::{self, CheckedAlert};
use crate::answers::to_value;
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::input::Input;
use crate::state::ControlState;

/// Change an alert. Findings that it announced in this period are not announced again.
#[utoipa::path(put, path = "/tenants/{tenant}/alerts/{alert}", operation_id = "alerts_update", tag = "alerts",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("alert" = String, Path, description = "`alert_…`"),
    ),
    request_body = AlertBody,
    responses(
        (status = 200, description = "Changed", body = Alert),
        (status = 409, description = "The set of the alert already has an alert with this name"),
    ))]
pub(crate) async fn update(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    Path((_, alert)): Path<(String, String)>,
    Input { body, once }: Input<AlertBody>,
) -> Result<Response, ControlError> {
    let id: AlertId = alert.parse().map_err(|_| Problem::not_found())?;
    let mut change = control.change("alerts.update", caller, once).await?;
    let tenant_id = change.caller.tenant_id;
    let before = change.tx.alerts().find(tenant_id, id).await?.ok_or_else(Problem::not_found)?;
    let checked = alerts::checked(&mut change, body).await?;
    let row = update_stored(&mut change, before, checked, None).await?;
    change.answer(StatusCode::OK, &alerts::alert(row)).await
}

/// Replaces `before` and records it in the audit log. From then on, the alert belongs to the set of rules as code that is given,
/// or stays where it is.
pub(crate) async fn update_stored(
    change: &mut Change,
    before: AlertRow,
    alert: CheckedAlert,
    managed_by: Option<&str>,
) -> Result<AlertRow, ControlError> {
    let write = alerts::write(change, before.id, alert, managed_by);
    let row = change.tx.alerts().update(&write).await?.ok_or_else(Problem::not_found)?;
    let object = Object::new("alert", &row.id);
    let before = alerts::alert(before);
    let after = alerts::alert(row.clone());
    change.audit("alert.update", object, Some(to_value(&before)?), Some(to_value(&after)?));
    Ok(row)
}
