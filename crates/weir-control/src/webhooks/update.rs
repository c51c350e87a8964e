//! `PUT /tenants/{tenant}/webhooks/{webhook}`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::id::WebhookId;
use weir_domain::webhook::WebhookKind;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_wire::webhooks::{Webhook, WebhookBody};

use crate::actor::{Admin, By};
use crate::answers::to_value;
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Input;
use crate::state::ControlState;
use crate::webhooks::checked::CheckedWebhook;
use crate::webhooks::{sealed, webhook, write};

/// Change a webhook, but not its kind. Pending messages go to the new URL; those of e-mail stay with their recipients.
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
    Path((_, id)): Path<(String, String)>,
    Input { body, once }: Input<WebhookBody>,
) -> Result<Response, ControlError> {
    let id: WebhookId = id.parse().map_err(|_| Problem::not_found())?;
    let checked = CheckedWebhook::parse(&control, body)?;
    let mut change = control.change("webhooks.update", caller, once).await?;
    let tenant_id = change.caller.tenant_id;
    let before = change.tx.webhooks().find(tenant_id, id).await?.ok_or_else(Problem::not_found)?;
    if checked.kind != before.kind {
        let reason = format!("must stay `{}`: create another webhook", before.kind.as_str());
        return Err(Problem::invalid_field("kind", reason).into());
    }
    // Otherwise the stored key could be sent to a server of the caller.
    let moves = checked.kind == WebhookKind::Pagerduty && checked.url != before.url;
    if moves && checked.routing_key.is_none() {
        let reason = "is missing: another URL needs it again";
        return Err(Problem::invalid_field("routing_key", reason).into());
    }
    let key = checked.routing_key.as_ref();
    let secret = key.map(|key| sealed(&control, tenant_id, id, key.0.as_bytes()));
    let write = write(&change, id, checked, secret);
    let row = change.tx.webhooks().update(&write).await?.ok_or_else(Problem::not_found)?;
    let before = webhook(before);
    let after = webhook(row);
    let object = Object::new("webhook", &id);
    change.audit("webhook.update", object, Some(to_value(&before)?), Some(to_value(&after)?));
    change.answer(StatusCode::OK, &after).await
}
