//! Leases of concurrency limits: places that callers hold while they work.
//!
//! The arithmetic is in `algorithm/concurrency`, and `renewal` renews and releases leases.

use crate::algorithm::LeaseId;
use crate::id::RuleId;
use crate::spread::SpreadKey;
use crate::subject::SubjectKey;

/// A lease as its holder knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The id.
    pub id: LeaseId,
    /// The time for which it holds its place after it was taken or renewed, in milliseconds.
    pub lease_ms: u64,
    /// The rule of the limit.
    pub rule: RuleId,
    /// The slot of the limit.
    pub slot: u16,
    /// The subject that is counted.
    pub subject: SubjectKey,
    /// The values by which the counters are spread.
    pub spread: SpreadKey,
}
