//! `POST /tenants/{tenant}/alerts`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::id::AlertId;
use weir_http::problem::Problem;
use weir_wire::alerts::{Alert, AlertBody};
use weir_wire::problem::ErrorCode;

use crate::actor::{By, Editor};
use crate::alerts;
use crate::answers::to_value;
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Input;
use crate::state::ControlState;

/// The most alerts of a tenant.
const ALERTS_MAX: u64 = 100;

/// Make an alert.
#[utoipa::path(post, path = "/tenants/{tenant}/alerts", operation_id = "alerts_create", tag = "alerts",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = AlertBody,
    responses(
        (status = 201, description = "Made", body = Alert),
        (status = 409, description = "There are as many as there may be"),
    ))]
pub(crate) async fn create(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    Input { body, once }: Input<AlertBody>,
) -> Result<Response, ControlError> {
    let mut change = control.change("alerts.create", caller, once).await?;
    let id = control.id(AlertId::new);
    let write = alerts::write(&mut change, id, body).await?;
    if change.tx.alerts().count(write.tenant_id).await? >= ALERTS_MAX {
        let detail = format!("the tenant has {ALERTS_MAX} alerts, which is the most");
        return Err(Problem::new(ErrorCode::Conflict, detail).into());
    }
    let alert = alerts::alert(change.tx.alerts().insert(&write).await?);
    let object = Object::new("alert", &id);
    change.audit("alert.create", object, None, Some(to_value(&alert)?)).await?;
    change.answer(StatusCode::CREATED, &alert).await
}
