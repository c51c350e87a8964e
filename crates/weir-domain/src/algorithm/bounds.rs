//! Bounds of the parameters of algorithms.

use std::fmt;

/// The greatest limit, capacity, refill or drain.
pub const UNITS_MAX: u64 = 1_000_000_000_000;
/// The most units that a rate, once reduced, has per microsecond. The time to drain stays exact.
pub const PER_US_MAX: u64 = 1_000_000_000;
/// The greatest limit of a sliding window log: an entry takes about 40 bytes in Redis, so one subject's log stays below
/// half a megabyte.
pub const LOG_LIMIT_MAX: u64 = 10_000;
/// The most leases of a concurrency limit at the same time: Redis stores each of them.
pub const LEASES_MAX: u64 = 1_000;
/// The longest lease of a concurrency limit: a day, in milliseconds.
pub const LEASE_MS_MAX: u64 = 24 * 60 * 60 * 1000;
/// The longest window or interval: 366 days, in milliseconds.
pub const SPAN_MS_MAX: u64 = 366 * 24 * 60 * 60 * 1000;
/// The greatest cost of one check.
pub const COST_MAX: u64 = 1_000_000_000;
/// The most units that a counter counts, debt included.
pub const COUNT_MAX: u64 = 1 << 52;
/// Integers below this are exact in Lua's doubles.
pub const EXACT_MAX: u64 = (1 << 53) - 1;

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
