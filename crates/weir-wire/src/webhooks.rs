//! Where a tenant is told things.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::DateTime;

/// A webhook as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct WebhookBody {
    /// What to recognise it by.
    #[cfg_attr(feature = "openapi", schema(example = "on call", min_length = 1, max_length = 100))]
    pub name: String,
    /// Where to send: `https`, on the public internet, port 443 or one from 1024 up.
    #[cfg_attr(
        feature = "openapi",
        schema(example = "https://hooks.example.com/weir", max_length = 2000)
    )]
    pub url: String,
    /// Whether anything is sent; what is told meanwhile counts as failed.
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
    /// What to recognise it by.
    pub name: String,
    /// Where it sends.
    pub url: String,
    /// Whether it does.
    pub enabled: bool,
    /// After a rotation: until when the secret before it also signs.
    pub previous_expires_at: Option<DateTime>,
    /// Who made it.
    pub created_by: String,
    /// When it was made.
    pub created_at: DateTime,
    /// When it was last changed.
    pub updated_at: DateTime,
}

/// A webhook with its secret, which is shown this one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct IssuedWebhook {
    /// The webhook.
    pub webhook: Webhook,
    /// `whsec_…`: check signatures with it. It cannot be shown again.
    pub secret: ShownSecret,
}

/// What signs. `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct ShownSecret(pub String);

/// `POST /tenants/{tenant}/webhooks/{webhook}/rotate`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RotateWebhook {
    /// How long messages are signed with the secret before as well; 0 ends it at once.
    #[cfg_attr(feature = "openapi", schema(example = 86400, maximum = 2_592_000))]
    pub overlap_s: u32,
}

/// What became of something that was to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// It is tried, or tried again later.
    Pending,
    /// It was answered with a status from 200 to 299.
    Delivered,
    /// It was given up.
    Failed,
}

/// One thing that was to be told, and what came of the last attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Delivery {
    /// `delivery_…`; the header `webhook-id` of every attempt.
    pub id: String,
    /// What it tells: `alert.quota`, `alert.denial_share` or `webhook.test`.
    pub kind: String,
    /// The body, exactly as it is signed and sent.
    pub payload: String,
    /// What became of it.
    pub state: DeliveryState,
    /// How often it was tried, since it was last sent again.
    pub attempts: u32,
    /// When it is tried next; null: not any more.
    pub next_at: Option<DateTime>,
    /// When it was last tried; null: never.
    pub attempted_at: Option<DateTime>,
    /// The status of the last answer.
    pub response_status: Option<u16>,
    /// The first 1024 bytes of the last answer.
    pub response: Option<String>,
    /// Why there was no answer, or why it did not count.
    pub error: Option<String>,
    /// How long the last attempt took.
    pub took_ms: Option<u64>,
    /// When it was to be told.
    pub created_at: DateTime,
}

impl fmt::Debug for ShownSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShownSecret(…)")
    }
}

const fn yes() -> bool {
    true
}
