//! Writes of alerts: `POST /tenants/{tenant}/alerts`, and `PUT` of one of them

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::id::AlertId;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_store::AlertRow;
use weir_wire::alerts::{Alert, AlertBody};
use weir_wire::problem::ErrorCode;

use crate::actor::{By, Editor};
use crate::alerts::{self, CheckedAlert};
use crate::answers::to_value;
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::input::Input;
use crate::state::ControlState;

/// The most alerts of a tenant.
pub(crate) const ALERTS_MAX: u64 = 100;

/// Create an alert.
#[utoipa::path(post, path = "/tenants/{tenant}/alerts", operation_id = "alerts_create", tag = "alerts",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = AlertBody,
    responses(
        (status = 201, description = "Created", body = Alert),
        (status = 409, description = "The tenant has reached its limit of alerts"),
    ))]
pub(crate) async fn create(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    Input { body, once }: Input<AlertBody>,
) -> Result<Response, ControlError> {
    let mut change = control.change("alerts.create", caller, once).await?;
    let checked = alerts::checked(&mut change, body).await?;
    let alert = alerts::alert(insert(&control, &mut change, checked, None).await?);
    change.answer(StatusCode::CREATED, &alert).await
}

/// Inserts a checked alert, which belongs to a set of rules as code if one is given, and records it in the audit log.
pub(crate) async fn insert(
    control: &ControlState,
    change: &mut Change,
    alert: CheckedAlert,
    managed_by: Option<&str>,
) -> Result<AlertRow, ControlError> {
    if change.tx.alerts().count(change.caller.tenant_id).await? >= ALERTS_MAX {
        let detail = format!("the tenant has {ALERTS_MAX} alerts, which is the most");
        return Err(Problem::new(ErrorCode::Conflict, detail).into());
    }
    let write = alerts::write(change, control.id(AlertId::new), alert, managed_by);
    let row = change.tx.alerts().insert(&write).await?;
    let after = to_value(&alerts::alert(row.clone()))?;
    change.audit("alert.create", Object::new("alert", &row.id), None, Some(after));
    Ok(row)
}

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
