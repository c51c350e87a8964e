//! What-if runs: decisions on past checks by a present rule and by a changed one.

use weir_wire::simulate::TRACE_BYTES_MAX;

mod certainty;
mod outcome;
mod recorded;
mod replay;
mod rules;
pub(crate) mod run;
pub(crate) mod status;
pub(crate) mod suggest;
mod trace;
mod traffic;
mod variants;

/// The longest body. A trace is longer in JSON than as text.
pub(crate) const BODY_BYTES_MAX: usize = TRACE_BYTES_MAX * 6 / 5;
