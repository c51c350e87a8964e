//! The kinds of webhooks: the form of the messages that they send.

/// The kind of a webhook. It never changes, because the address, the secret and queued messages depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookKind {
    /// JSON of Weir, signed as Standard Webhooks specifies.
    Standard,
    /// The JSON of Slack's incoming webhooks.
    Slack,
    /// Events of PagerDuty's Events API v2.
    Pagerduty,
    /// E-mail, over the SMTP server of the operator.
    Email,
    /// E-mail to the customers that a quota alert is about, at the address in their assignment.
    CustomerEmail,
}

/// The most addresses of a webhook of kind [`WebhookKind::Email`].
pub const ADDRESSES_MAX: usize = 10;
/// The characters of a routing key of PagerDuty.
pub const ROUTING_KEY_CHARS: usize = 32;

impl WebhookKind {
    /// The name of the kind.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Slack => "slack",
            Self::Pagerduty => "pagerduty",
            Self::Email => "email",
            Self::CustomerEmail => "customer_email",
        }
    }

    /// Whether its messages go over the SMTP server.
    pub const fn is_mail(self) -> bool {
        matches!(self, Self::Email | Self::CustomerEmail)
    }

    /// The kind with this name.
    pub fn parse(name: &str) -> Option<Self> {
        let kinds =
            [Self::Standard, Self::Slack, Self::Pagerduty, Self::Email, Self::CustomerEmail];
        kinds.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// Whether a text has the form of a routing key: 32 letters and digits.
pub fn is_routing_key(text: &str) -> bool {
    text.len() == ROUTING_KEY_CHARS && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
