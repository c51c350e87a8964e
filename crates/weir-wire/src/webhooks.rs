//! Webhooks and their deliveries in JSON.

use std::fmt;

use serde::{Deserialize, Serialize};
use weir_domain::webhook;

use crate::time::DateTime;

/// The form of the messages of a webhook.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum WebhookKind {
    /// JSON of Weir, signed as Standard Webhooks specifies.
    #[default]
    Standard,
    /// The JSON of Slack's incoming webhooks.
    Slack,
    /// Events of PagerDuty's Events API v2.
    Pagerduty,
    /// E-mail, over the SMTP server of the operator.
    Email,
    /// E-mail to the customers that an alert of kind `quota` is about, at the address in their assignment.
    CustomerEmail,
}

/// A webhook in a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct WebhookBody {
    /// A name that people recognise the webhook by.
    #[cfg_attr(feature = "openapi", schema(example = "on call", min_length = 1, max_length = 100))]
    pub name: String,
    /// The form of the messages. It cannot be changed.
    #[serde(default)]
    pub kind: WebhookKind,
    /// `standard`, `slack`: the URL of the receiver: `https`, on the public internet, port 443 or one from 1024 up. `pagerduty`: only
    /// for another region; the default is `https://events.pagerduty.com/v2/enqueue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(example = "https://hooks.example.com/weir", max_length = 2000)
    )]
    pub url: Option<String>,
    /// `pagerduty`: the integration key of a service, 32 letters and digits. It is stored encrypted and never shown. Without it, a
    /// change keeps the stored one, unless the URL changes too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub routing_key: Option<RoutingKey>,
    /// `email`: the recipients, 1 to 10. Each gets a message of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// Whether messages are sent. Messages that fall due while this is false count as failed.
    #[serde(default = "yes")]
    #[cfg_attr(feature = "openapi", schema(default = true))]
    pub enabled: bool,
}

/// A webhook without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Webhook {
    /// `webhook_…`
    pub id: String,
    /// A name that people recognise the webhook by.
    pub name: String,
    /// The form of the messages.
    pub kind: WebhookKind,
    /// The URL of the receiver; null for `email` and `customer_email`.
    pub url: Option<String>,
    /// `email`: the recipients.
    pub addresses: Vec<String>,
    /// Whether messages are sent.
    pub enabled: bool,
    /// After a rotation: the time until which the previous secret also signs.
    pub previous_expires_at: Option<DateTime>,
    /// The person or key that created it.
    pub created_by: String,
    /// The time of creation.
    pub created_at: DateTime,
    /// The time of the last change.
    pub updated_at: DateTime,
    /// The results of its deliveries; null outside lists.
    #[serde(default)]
    pub health: Option<WebhookHealth>,
}

/// Whether the receiver of a webhook accepts deliveries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WebhookHealth {
    /// The time of the newest delivery that succeeded; null if there was none.
    pub delivered_at: Option<DateTime>,
    /// The deliveries after that one that were attempted without success, at most 100.
    pub failing: u64,
    /// The time of the first of them.
    pub failing_since: Option<DateTime>,
    /// The error of the last of them.
    pub error: Option<String>,
}

/// A webhook with its secret, which is shown only in this answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct IssuedWebhook {
    /// The webhook.
    pub webhook: Webhook,
    /// `whsec_…`: the secret that verifies signatures. It cannot be shown again. Null unless the kind is `standard`.
    pub secret: Option<ShownSecret>,
}

/// A routing key of PagerDuty. `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RoutingKey(pub String);

/// The secret that signs messages. `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct ShownSecret(pub String);

/// `POST /tenants/{tenant}/webhooks/{webhook}/rotate`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RotateWebhook {
    /// The time for which messages are signed with the previous secret too; 0 ends it at once.
    #[cfg_attr(feature = "openapi", schema(example = 86400, maximum = 2_592_000))]
    pub overlap_s: u32,
}

/// The state of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// The delivery waits for its next attempt.
    Pending,
    /// The receiver answered with a status from 200 to 299, or the SMTP server accepted the message.
    Delivered,
    /// There are no more attempts, the webhook was disabled, or the SMTP server refused the message for good.
    Failed,
}

/// A message to a webhook, and the result of the last attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Delivery {
    /// `delivery_…`; the header `webhook-id` of every attempt.
    pub id: String,
    /// The kind of message: `alert.quota`, `alert.denial_share`, `alert.resolved` or `webhook.test`.
    pub kind: String,
    /// The body, exactly as it is signed and sent. `pagerduty`: without the routing key. `email`: the recipient, the subject and the
    /// text in JSON.
    pub payload: String,
    /// The state of the delivery.
    pub state: DeliveryState,
    /// The number of attempts since it was last sent again.
    pub attempts: u32,
    /// The time of the next attempt; null if there is none.
    pub next_at: Option<DateTime>,
    /// The time of the last attempt; null if there was none.
    pub attempted_at: Option<DateTime>,
    /// The status of the last answer; of an SMTP server, its code.
    pub response_status: Option<u16>,
    /// The first 1024 bytes of the last answer.
    pub response: Option<String>,
    /// The reason why there was no answer, or why the answer was not accepted.
    pub error: Option<String>,
    /// The duration of the last attempt.
    pub took_ms: Option<u64>,
    /// The time of the announcement.
    pub created_at: DateTime,
}

impl From<WebhookKind> for webhook::WebhookKind {
    fn from(kind: WebhookKind) -> Self {
        match kind {
            WebhookKind::Standard => Self::Standard,
            WebhookKind::Slack => Self::Slack,
            WebhookKind::Pagerduty => Self::Pagerduty,
            WebhookKind::Email => Self::Email,
            WebhookKind::CustomerEmail => Self::CustomerEmail,
        }
    }
}

impl From<webhook::WebhookKind> for WebhookKind {
    fn from(kind: webhook::WebhookKind) -> Self {
        match kind {
            webhook::WebhookKind::Standard => Self::Standard,
            webhook::WebhookKind::Slack => Self::Slack,
            webhook::WebhookKind::Pagerduty => Self::Pagerduty,
            webhook::WebhookKind::Email => Self::Email,
            webhook::WebhookKind::CustomerEmail => Self::CustomerEmail,
        }
    }
}

impl fmt::Debug for RoutingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RoutingKey(…)")
    }
}

impl fmt::Debug for ShownSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShownSecret(…)")
    }
}

const fn yes() -> bool {
    true
}
