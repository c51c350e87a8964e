//! `POST /tenants/{tenant}/webhooks/{webhook}/rotate`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::id::WebhookId;
use weir_domain::webhook::WebhookKind;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_store::WebhookRotation;
use weir_wire::webhooks::{IssuedWebhook, RotateWebhook, ShownSecret};

use crate::actor::{Admin, By};
use crate::answers::to_value;
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Input;
use crate::state::ControlState;
use crate::webhooks;

const OVERLAP_S_MAX: u32 = 30 * 24 * 60 * 60;

/// Give a webhook of kind `standard` a new secret. Messages are signed with both until the overlap ends.
#[utoipa::path(post, path = "/tenants/{tenant}/webhooks/{webhook}/rotate", operation_id = "webhooks_rotate", tag = "alerts",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("webhook" = String, Path, description = "`webhook_…`"),
    ),
    request_body = RotateWebhook,
    responses(
        (status = 200, description = "Rotated", body = IssuedWebhook),
        (status = 409, description = "Already rotated with this idempotency key; the secret cannot be shown again"),
    ))]
pub(crate) async fn rotate(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Path((_, webhook)): Path<(String, String)>,
    Input { body, once }: Input<RotateWebhook>,
) -> Result<Response, ControlError> {
    let id: WebhookId = webhook.parse().map_err(|_| Problem::not_found())?;
    if body.overlap_s > OVERLAP_S_MAX {
        return Err(Problem::invalid_field("overlap_s", "must be at most 2592000 (30 days)").into());
    }
    let mut change = control.change("webhooks.rotate", caller, once).await?;
    let tenant_id = change.caller.tenant_id;
    let before = change.tx.webhooks().find(tenant_id, id).await?.ok_or_else(Problem::not_found)?;
    if before.kind != WebhookKind::Standard {
        let reason = format!("is of kind `{}`, which has no secret of Weir", before.kind.as_str());
        return Err(Problem::invalid_field("webhook", reason).into());
    }
    let before = to_value(&webhooks::webhook(before))?;
    let (secret, sealed) = webhooks::new_secret(&control, tenant_id, id);
    let rotation = WebhookRotation {
        id,
        tenant_id,
        secret: sealed,
        previous_expires_at: change.now.plus_ms(i64::from(body.overlap_s) * 1000),
        now: change.now,
    };
    let row = change.tx.webhooks().rotate(&rotation).await?.ok_or_else(Problem::not_found)?;
    let webhook = webhooks::webhook(row);
    let object = Object::new("webhook", &id);
    change.audit("webhook.rotate", object, Some(before), Some(to_value(&webhook)?));
    let to_repeats = format!("{id} was rotated by the first request; its secret was shown then");
    let shown = IssuedWebhook { webhook, secret: Some(ShownSecret(secret.expose())) };
    change.answer_once(StatusCode::OK, &shown, to_repeats).await
}
