//! A limit of a rule: an algorithm with its parameters and its slot.

pub(crate) use crate::algorithm::bounds::span_ms;
pub use crate::algorithm::bounds::{
    COST_MAX, COUNT_MAX, EXACT_MAX, InvalidLimit, LEASE_MS_MAX, LEASES_MAX, LOG_LIMIT_MAX,
    SPAN_MS_MAX, UNITS_MAX,
};
use crate::algorithm::{Algorithm, LimitDraft};

use crate::names::InvalidField;

/// The most lengths of the blocks of a rule.
pub const BLOCKS_MAX: usize = 10;
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

/// Checks the limits of a rule or an override. `path` is their place in the body.
pub(crate) fn parse_limits(
    drafts: &[LimitDraft],
    path: &str,
    wrong: &mut Vec<InvalidField>,
) -> Vec<Limit> {
    let mut limits = Vec::with_capacity(drafts.len());
    for ((at, draft), slot) in drafts.iter().enumerate().zip(0..) {
        match Algorithm::parse(draft.clone()) {
            Ok(algorithm) => limits.push(Limit { slot, algorithm }),
            Err(InvalidLimit { field, reason }) => {
                wrong.push(InvalidField::new(format!("{path}[{at}].{field}"), reason));
            }
        }
    }
    limits
}
