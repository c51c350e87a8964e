//! `PUT /tenants/{tenant}/webhooks/{webhook}`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::id::WebhookId;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_wire::webhooks::{Webhook, WebhookBody};

use crate::actor::{Admin, By};
use crate::answers::to_value;
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Input;
use crate::state::ControlState;
use crate::webhooks;

/// Change a webhook. Pending messages go to the new address.
#[utoipa::path(put, path = "/tenants/{tenant}/webhooks/{webhook}", operation_id = "webhooks_update", tag = "alerts",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("webhook" = String, Path, description = "`webhook_…`"),
    ),
    request_body = WebhookBody,
    responses((status = 200, description = "Changed", body = Webhook)))]
pub(crate) async fn update(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Path((_, webhook)): Path<(String, String)>,
    Input { body, once }: Input<WebhookBody>,
) -> Result<Response, ControlError> {
    let id: WebhookId = webhook.parse().map_err(|_| Problem::not_found())?;
    let target = webhooks::checked(&control, &body)?;
    let mut change = control.change("webhooks.update", caller, once).await?;
    let tenant_id = change.caller.tenant_id;
    let before = change.tx.webhooks().find(tenant_id, id).await?.ok_or_else(Problem::not_found)?;
    let write = webhooks::write(&change, id, body, &target);
    let row = change.tx.webhooks().update(&write).await?.ok_or_else(Problem::not_found)?;
    let before = webhooks::webhook(before);
    let after = webhooks::webhook(row);
    let object = Object::new("webhook", &id);
    change.audit("webhook.update", object, Some(to_value(&before)?), Some(to_value(&after)?));
    change.answer(StatusCode::OK, &after).await
}
