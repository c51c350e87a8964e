//! Bounds of limits, and a limit of a rule: an algorithm with its parameters and its slot.

use std::fmt;

use crate::algorithm::Algorithm;

/// The greatest limit, capacity, refill or drain.
pub const UNITS_MAX: u64 = 1_000_000_000;
/// The greatest limit of a sliding window log: an entry takes about 40 bytes in Redis, so one subject's log stays below
/// half a megabyte.
pub const LOG_LIMIT_MAX: u64 = 10_000;
/// The longest window or interval: 366 days, in milliseconds.
pub const SPAN_MS_MAX: u64 = 366 * 24 * 60 * 60 * 1000;
/// The greatest cost of one check.
pub const COST_MAX: u64 = 1_000_000;
/// Most limits of a rule.
pub const LIMITS_PER_RULE_MAX: usize = 8;
/// Integers below this are exact in Lua's doubles.
pub const EXACT_MAX: u64 = (1 << 53) - 1;

/// One limit of a rule.
///
/// The slot names the limit's counters. It stays when the limit's numbers are edited, and it is not
/// used again within the rule, so an edit keeps counters and a removal never hands them to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// The number of the limit's counters within the rule.
    pub slot: u16,
    /// The algorithm with its parameters.
    pub algorithm: Algorithm,
}

/// A parameter outside its bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidLimit {
    /// The name of the parameter in JSON.
    pub field: &'static str,
    /// The requirement, to follow the name of the field.
    pub reason: String,
}

impl fmt::Display for InvalidLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.field, self.reason)
    }
}

impl std::error::Error for InvalidLimit {}

/// Checks a limit, capacity, refill or drain.
pub(crate) fn units(field: &'static str, value: u64) -> Result<u64, InvalidLimit> {
    if (1..=UNITS_MAX).contains(&value) {
        Ok(value)
    } else {
        Err(InvalidLimit { field, reason: format!("must be from 1 to {UNITS_MAX}") })
    }
}

/// Checks a window or interval in milliseconds.
pub(crate) fn span_ms(field: &'static str, value: u64) -> Result<u64, InvalidLimit> {
    if (1..=SPAN_MS_MAX).contains(&value) {
        Ok(value)
    } else {
        Err(InvalidLimit {
            field,
            reason: format!("must be from 1 to {SPAN_MS_MAX} milliseconds (366 days)"),
        })
    }
}
