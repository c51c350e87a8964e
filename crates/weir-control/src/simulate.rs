//! What-if runs: past checks decided by a rule as it is and as it could be.

use weir_wire::simulate::TRACE_BYTES_MAX;

mod certainty;
mod outcome;
mod recorded;
mod replay;
pub(crate) mod room;
mod rules;
pub(crate) mod run;
pub(crate) mod status;
mod trace;
mod traffic;

/// A trace in JSON is longer than itself.
pub(crate) const BODY_BYTES_MAX: usize = TRACE_BYTES_MAX * 6 / 5;
