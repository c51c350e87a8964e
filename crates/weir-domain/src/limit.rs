//! A limit of a rule: an algorithm with its parameters and its slot.

use crate::algorithm::Algorithm;
pub(crate) use crate::algorithm::bounds::span_ms;
pub use crate::algorithm::bounds::{
    COST_MAX, COUNT_MAX, EXACT_MAX, InvalidLimit, LEASE_MS_MAX, LEASES_MAX, LOG_LIMIT_MAX,
    SPAN_MS_MAX, UNITS_MAX,
};

/// The most limits of a rule.
pub const LIMITS_PER_RULE_MAX: usize = 8;

/// One limit of a rule.
///
/// The slot names the limit's counters. It stays when the limit's numbers are edited, and it is not
/// used again within the rule, so an edit retains counters and no other limit inherits them after a removal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Limit {
    /// The number of the limit's counters within the rule.
    pub slot: u16,
    /// The algorithm with its parameters.
    pub algorithm: Algorithm,
}
