//! Numbers of decisions.

use weir_domain::time::Timestamp;

/// The numbers of decisions of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TallyCounts {
    /// Checks that were allowed.
    pub allowed: u64,
    /// Checks that were denied.
    pub denied: u64,
    /// Checks that a rule in shadow mode would have denied.
    pub shadow_denied: u64,
    /// Checks that were decided without Redis.
    pub degraded: u64,
    /// Requests that refunded units.
    pub refunded: u64,
    /// Requests that recorded units.
    pub recorded: u64,
}

/// Counts, and how complete they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted<T> {
    /// The counts.
    pub counts: T,
    /// The time up to which every gate has reported its decisions.
    pub as_of: Timestamp,
    /// The number of decisions in the range that gates could not record, of all tenants.
    pub dropped: u64,
}

impl TallyCounts {
    /// Adds other counts to these.
    pub fn add(&mut self, others: &Self) {
        self.allowed += others.allowed;
        self.denied += others.denied;
        self.shadow_denied += others.shadow_denied;
        self.degraded += others.degraded;
        self.refunded += others.refunded;
        self.recorded += others.recorded;
    }
}
