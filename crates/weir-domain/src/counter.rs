//! The names of counters, and their layout in Redis.

use crate::id::{RuleId, TenantId};
use crate::subject::SubjectKey;

/// The layout of counters in Redis, which all gates must share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The number of hash tags over which namespaces are spread.
    pub buckets: u16,
    /// A number that changes whenever the names of counters change otherwise.
    pub epoch: u16,
}

/// The name of a counter. It does not contain the numbers of the limit, so an edit retains the counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CounterName {
    /// The tenant that owns the rule.
    pub tenant: TenantId,
    /// The rule of the limit.
    pub rule: RuleId,
    /// The counter within the rule.
    pub part: CounterPart,
    /// The subject.
    pub subject: SubjectKey,
}

/// One of a rule's counters for one subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CounterPart {
    /// The counter of the limit in this slot.
    Slot(u16),
    /// The block of the subject.
    Block,
}
