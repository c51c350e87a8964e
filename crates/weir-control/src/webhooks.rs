//! Webhooks of a tenant, and the log of their deliveries.

use weir_domain::id::{TenantId, WebhookId};
use weir_store::{DeliveryRow, WebhookHealth, WebhookRow, WebhookWrite};
use weir_webhook::{Target, WebhookSecret, webhook_owner};
use weir_wire::webhooks::{Delivery, DeliveryState, Webhook};

use crate::change::Change;
use crate::state::ControlState;
use crate::webhooks::checked::CheckedWebhook;

pub(crate) mod again;
mod checked;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod deliveries;
pub(crate) mod list;
pub(crate) mod rotate;
pub(crate) mod test;
pub(crate) mod update;

/// A webhook in JSON.
pub(crate) fn webhook(row: WebhookRow) -> Webhook {
    Webhook {
        id: row.id.to_string(),
        name: row.name,
        kind: row.kind.into(),
        url: row.url,
        addresses: row.addresses,
        enabled: row.enabled,
        previous_expires_at: row.previous.map(|previous| previous.expires_at.into()),
        created_by: row.created_by,
        created_at: row.created_at.into(),
        updated_at: row.updated_at.into(),
        health: None,
    }
}

/// The results of deliveries in JSON.
pub(crate) fn health(row: WebhookHealth) -> weir_wire::webhooks::WebhookHealth {
    weir_wire::webhooks::WebhookHealth {
        delivered_at: row.delivered_at.map(Into::into),
        failing: row.failing,
        failing_since: row.failing_since.map(Into::into),
        error: row.error,
    }
}

/// A webhook in JSON for callers without the right to the whole URL, whose path and query often contain a secret of the
/// receiver.
pub(crate) fn masked(row: WebhookRow) -> Webhook {
    let origin =
        |url| Target::origin_of(url).map_or_else(|| "…".to_owned(), |origin| format!("{origin}/…"));
    let url = row.url.as_deref().map(origin);
    webhook(WebhookRow { url, ..row })
}

/// A delivery in JSON.
fn delivery(row: DeliveryRow) -> Delivery {
    let state = match row.state {
        weir_store::DeliveryState::Pending => DeliveryState::Pending,
        weir_store::DeliveryState::Delivered => DeliveryState::Delivered,
        weir_store::DeliveryState::Failed => DeliveryState::Failed,
    };
    Delivery {
        id: row.id.to_string(),
        kind: row.kind,
        payload: row.payload,
        state,
        attempts: row.attempts,
        next_at: (state == DeliveryState::Pending).then(|| row.next_at.into()),
        attempted_at: row.attempted_at.map(Into::into),
        response_status: row.response_status,
        response: row.response,
        error: row.error,
        took_ms: row.took_ms,
        created_at: row.created_at.into(),
    }
}

/// The columns of a checked body, with a sealed secret if there is a new one.
fn write(
    change: &Change,
    id: WebhookId,
    checked: CheckedWebhook,
    secret: Option<Vec<u8>>,
) -> WebhookWrite {
    WebhookWrite {
        id,
        tenant_id: change.caller.tenant_id,
        name: checked.name,
        url: checked.url,
        addresses: checked.addresses,
        enabled: checked.enabled,
        secret,
        now: change.now,
    }
}

/// Makes a new secret of signatures. Returns it with its sealed form.
fn new_secret(
    control: &ControlState,
    tenant_id: TenantId,
    id: WebhookId,
) -> (WebhookSecret, Vec<u8>) {
    let secret = WebhookSecret::new(control.random.bytes());
    let sealed = sealed(control, tenant_id, id, secret.bytes());
    (secret, sealed)
}

/// Seals a secret of a webhook.
fn sealed(control: &ControlState, tenant_id: TenantId, id: WebhookId, secret: &[u8]) -> Vec<u8> {
    let nonce = control.random.bytes();
    control.webhooks.sealing.seal(&webhook_owner(tenant_id, id), secret, nonce)
}
