//! `POST /tenants/{tenant}/webhooks`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::id::WebhookId;
use weir_http::problem::Problem;
use weir_store::NewWebhook;
use weir_wire::problem::ErrorCode;
use weir_wire::webhooks::{IssuedWebhook, ShownSecret, WebhookBody};

use crate::actor::{Admin, By};
use crate::answers::to_value;
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Input;
use crate::state::ControlState;
use crate::{api_keys, webhooks};

/// The most webhooks of a tenant.
pub(crate) const WEBHOOKS_MAX: u64 = 20;

/// Create a webhook. Only this answer contains its secret.
#[utoipa::path(post, path = "/tenants/{tenant}/webhooks", operation_id = "webhooks_create", tag = "alerts",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = WebhookBody,
    responses(
        (status = 201, description = "Created", body = IssuedWebhook),
        (status = 409, description = "The tenant has reached its limit of webhooks, or the webhook was already created with this idempotency key"),
    ))]
pub(crate) async fn create(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Input { body, once }: Input<WebhookBody>,
) -> Result<Response, ControlError> {
    let target = webhooks::checked(&control, &body)?;
    let mut change = control.change("webhooks.create", caller, once).await?;
    let tenant_id = change.caller.tenant_id;
    if change.tx.webhooks().count(tenant_id).await? >= WEBHOOKS_MAX {
        let detail = format!("the tenant has {WEBHOOKS_MAX} webhooks, which is the most");
        return Err(Problem::new(ErrorCode::Conflict, detail).into());
    }
    let id = control.id(WebhookId::new);
    let (secret, sealed) = webhooks::new_secret(&control, tenant_id, id);
    let new = NewWebhook {
        write: webhooks::write(&change, id, body, &target),
        secret: sealed,
        created_by: api_keys::maker(&change.caller.actor),
    };
    let webhook = webhooks::webhook(change.tx.webhooks().insert(&new).await?);
    let object = Object::new("webhook", &id);
    change.audit("webhook.create", object, None, Some(to_value(&webhook)?));
    let to_repeats = format!("{id} was created by the first request, which returned its secret");
    let shown = IssuedWebhook { webhook, secret: ShownSecret(secret.expose()) };
    change.answer_once(StatusCode::CREATED, &shown, to_repeats).await
}
