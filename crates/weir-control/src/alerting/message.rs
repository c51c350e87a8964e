//! The messages of webhooks in JSON: kind, time and event.

use serde_json::{Value, json};
use weir_domain::id::{DeliveryId, TenantId, WebhookId};
use weir_domain::time::Timestamp;
use weir_store::NewDelivery;
use weir_wire::time::DateTime;

use crate::state::ControlState;

/// A message of a webhook.
#[derive(Debug)]
pub(crate) enum WebhookMessage {
    /// A test message.
    Test {
        /// The name of the webhook.
        webhook: String,
    },
    /// A subject has used a share of a quota.
    Quota(Value),
    /// A share of checks was denied.
    DenialShare(Value),
}

impl WebhookMessage {
    /// The name of the kind.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Test { .. } => "webhook.test",
            Self::Quota(_) => "alert.quota",
            Self::DenialShare(_) => "alert.denial_share",
        }
    }

    /// The row of the message in the outbox.
    pub(crate) fn delivery(
        &self,
        control: &ControlState,
        tenant_id: TenantId,
        webhook_id: WebhookId,
        now: Timestamp,
    ) -> NewDelivery {
        let data = match self {
            Self::Test { webhook } => json!({ "webhook": webhook }),
            Self::Quota(data) | Self::DenialShare(data) => data.clone(),
        };
        let payload = json!({
            "type": self.kind(),
            "timestamp": DateTime(now),
            "tenant_id": tenant_id.to_string(),
            "data": data,
        });
        NewDelivery {
            id: control.id(DeliveryId::new),
            tenant_id,
            webhook_id,
            kind: self.kind(),
            payload: payload.to_string(),
            now,
        }
    }
}
