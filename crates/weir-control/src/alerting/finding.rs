//! An event that an alert announces once.

use weir_domain::time::Timestamp;

use crate::alerting::message::WebhookMessage;

/// An event to announce once.
#[derive(Debug)]
pub(super) struct Finding {
    /// The names under which the finding is recorded; equal findings have equal marks.
    pub(super) marks: Vec<String>,
    /// The time from which it can be announced again.
    pub(super) expires_at: Timestamp,
    /// The message.
    pub(super) message: WebhookMessage,
}
