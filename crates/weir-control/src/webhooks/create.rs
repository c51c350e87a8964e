//! `POST /tenants/{tenant}/webhooks`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::id::WebhookId;
use weir_domain::webhook::WebhookKind;
use weir_http::problem::Problem;
use weir_store::NewWebhook;
use weir_wire::webhooks::{IssuedWebhook, ShownSecret, WebhookBody};

use crate::actor::{Admin, By};
use crate::answers::to_value;
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Input;
use crate::state::ControlState;
use crate::webhooks::checked::CheckedWebhook;
use crate::{api_keys, webhooks};

/// The most webhooks of a tenant.
pub(crate) const WEBHOOKS_MAX: u64 = 20;

/// Create a webhook: a channel of alerts. Only this answer contains its secret, if the kind has one.
#[utoipa::path(post, path = "/tenants/{tenant}/webhooks", operation_id = "webhooks_create", tag = "alerts",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = WebhookBody,
    responses(
        (status = 201, description = "Created", body = IssuedWebhook),
        (status = 409, description = "The webhook was already created with this idempotency key"),
    ))]
pub(crate) async fn create(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Input { body, once }: Input<WebhookBody>,
) -> Result<Response, ControlError> {
    let checked = CheckedWebhook::parse(&control, body)?;
    let mut change = control.change("webhooks.create", caller, once).await?;
    let tenant_id = change.caller.tenant_id;
    if change.tx.webhooks().count(tenant_id).await? >= WEBHOOKS_MAX {
        let reason = format!("must be at most {WEBHOOKS_MAX} of a tenant: delete one first");
        return Err(Problem::invalid_field("webhooks", reason).into());
    }
    let id = control.id(WebhookId::new);
    let kind = checked.kind;
    let (secret, sealed) = match (kind, &checked.routing_key) {
        (WebhookKind::Standard, _) => {
            let (secret, sealed) = webhooks::new_secret(&control, tenant_id, id);
            (Some(ShownSecret(secret.expose())), Some(sealed))
        }
        (WebhookKind::Pagerduty, Some(key)) => {
            (None, Some(webhooks::sealed(&control, tenant_id, id, key.0.as_bytes())))
        }
        (WebhookKind::Pagerduty, None) => {
            let reason = "is missing: the kind `pagerduty` needs it";
            return Err(Problem::invalid_field("routing_key", reason).into());
        }
        (WebhookKind::Slack | WebhookKind::Email | WebhookKind::CustomerEmail, _) => (None, None),
    };
    let new = NewWebhook {
        write: webhooks::write(&change, id, checked, sealed),
        kind,
        created_by: api_keys::maker(&change.caller.actor),
    };
    let webhook = webhooks::webhook(change.tx.webhooks().insert(&new).await?);
    let object = Object::new("webhook", &id);
    change.audit("webhook.create", object, None, Some(to_value(&webhook)?));
    let shown = IssuedWebhook { webhook, secret };
    if shown.secret.is_none() {
        return change.answer(StatusCode::CREATED, &shown).await;
    }
    let to_repeats = format!("{id} was created by the first request, which returned its secret");
    change.answer_once(StatusCode::CREATED, &shown, to_repeats).await
}
