//! `DELETE /tenants/{tenant}/webhooks/{webhook}`

use axum::extract::State;
use axum::response::Response;
use weir_domain::id::WebhookId;
use weir_http::params::Path;
use weir_http::problem::Problem;

use crate::actor::{Admin, By};
use crate::answers::to_value;
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Once;
use crate::state::ControlState;
use crate::webhooks;

/// Delete a webhook with its log and its pending messages.
#[utoipa::path(delete, path = "/tenants/{tenant}/webhooks/{webhook}", operation_id = "webhooks_delete", tag = "alerts",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("webhook" = String, Path, description = "`webhook_…`"),
    ),
    responses(
        (status = 204, description = "Deleted"),
        (status = 409, description = "An alert uses the webhook"),
    ))]
pub(crate) async fn delete(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Path((_, webhook)): Path<(String, String)>,
) -> Result<Response, ControlError> {
    let id: WebhookId = webhook.parse().map_err(|_| Problem::not_found())?;
    let mut change = control.change("webhooks.delete", caller, Once::not_stored()).await?;
    let row = change.tx.webhooks().delete(change.caller.tenant_id, id).await?;
    let before = to_value(&webhooks::webhook(row.ok_or_else(Problem::not_found)?))?;
    change.audit("webhook.delete", Object::new("webhook", &id), Some(before), None);
    change.done().await
}
