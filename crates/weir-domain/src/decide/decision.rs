//! The decision of one limit.

use std::time::Duration;

/// The decision of one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Whether this limit lets the check pass.
    pub allowed: bool,
    /// Whole units left afterwards.
    pub remaining: u64,
    /// Milliseconds until the counter is as if never used.
    pub reset_after_ms: u64,
    /// Milliseconds after which this limit would let the same check pass. `None` means never.
    pub retry_after_ms: Option<u64>,
    /// Milliseconds the caller must wait before acting.
    pub delay_ms: u64,
    /// Of a refund: whether units were returned to the limit.
    pub returned: bool,
}

impl Decision {
    /// The decision as it is after this time without other checks.
    #[must_use]
    pub fn later(self, passed: Duration) -> Self {
        let passed_ms = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        Self {
            reset_after_ms: self.reset_after_ms.saturating_sub(passed_ms),
            retry_after_ms: self.retry_after_ms.map(|ms| ms.saturating_sub(passed_ms)),
            ..self
        }
    }
}
