//! `PUT /tenants/{tenant}/alerts/{alert}`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::id::AlertId;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_wire::alerts::{Alert, AlertBody};

use crate::actor::{By, Editor};
use crate::alerts;
use crate::answers::to_value;
use crate::change::Object;
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
    responses((status = 200, description = "Changed", body = Alert)))]
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
    let write = alerts::write(&mut change, id, body).await?;
    let row = change.tx.alerts().update(&write).await?.ok_or_else(Problem::not_found)?;
    let (before, after) = (alerts::alert(before), alerts::alert(row));
    let object = Object::new("alert", &id);
    change.audit("alert.update", object, Some(to_value(&before)?), Some(to_value(&after)?)).await?;
    change.answer(StatusCode::OK, &after).await
}
