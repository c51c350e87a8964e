//! What is told, in JSON: a kind, when, and what happened.

use serde_json::{Value, json};
use weir_domain::id::{DeliveryId, TenantId, WebhookId};
use weir_domain::time::Timestamp;
use weir_store::NewDelivery;
use weir_wire::time::DateTime;

use crate::state::ControlState;

/// Something to tell.
#[derive(Debug)]
pub(crate) enum Told {
    /// Nothing; to see it arrive.
    Test {
        /// What the webhook is called.
        webhook: String,
    },
    /// A subject has used so much of a quota.
    Quota(Value),
    /// So much was refused.
    DenialShare(Value),
}

impl Told {
    /// The word for its kind.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Test { .. } => "webhook.test",
            Self::Quota(_) => "alert.quota",
            Self::DenialShare(_) => "alert.denial_share",
        }
    }

    /// As it is put into the outbox.
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
