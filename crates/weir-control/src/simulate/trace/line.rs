//! One check of a trace, and the errors that a line can have.

use std::collections::BTreeMap;

use serde_json::Value;
use weir_domain::limit::COST_MAX;
use weir_domain::names;
use weir_domain::time::Timestamp;
use weir_wire::time::DateTime;

/// An error and its position. Columns count characters from 1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TraceError {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) reason: String,
}

/// One check as the trace states it.
pub(super) struct TracedCheck {
    pub(super) at: Timestamp,
    pub(super) cost: u64,
    pub(super) attributes: BTreeMap<String, String>,
}

impl TraceError {
    pub(super) fn at(line: usize, column: usize, reason: impl Into<String>) -> Self {
        Self { line, column, reason: reason.into() }
    }
}

/// A time like `2026-11-21T03:00:00Z`, or milliseconds since 1970.
pub(super) fn time(text: &str) -> Result<Timestamp, String> {
    if let Ok(ms) = text.parse::<u64>() {
        // The limit is the year 9999; later times are not times of checks.
        return i64::try_from(ms)
            .ok()
            .filter(|ms| *ms < 253_402_300_800_000)
            .map(Timestamp::from_millis)
            .ok_or_else(|| "`time` lies too far ahead".to_owned());
    }
    let read = serde_json::from_value::<DateTime>(Value::String(text.to_owned()));
    match read {
        Ok(at) if at.0.as_millis() >= 0 => Ok(at.0),
        _ => Err("`time` must be a time like `2026-11-21T03:00:00Z`, or milliseconds since 1970"
            .to_owned()),
    }
}

pub(super) fn cost(text: &str) -> Result<u64, String> {
    text.parse()
        .ok()
        .filter(|cost| (1..=COST_MAX).contains(cost))
        .ok_or_else(|| format!("`cost` must be a whole number from 1 to {COST_MAX}"))
}

pub(super) fn attribute(name: &str, value: &str) -> Result<(), String> {
    names::value(value).map_err(|reason| format!("`{name}` {reason}"))
}
