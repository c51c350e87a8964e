//! The window to which leased units belong.

use std::time::Instant;

use weir_domain::time::Micros;

/// The window to which units belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeaseWindow {
    /// Its end by Redis' clock.
    pub(crate) ends: Micros,
    /// Its end by this gate's clock.
    pub(crate) until: Instant,
    /// The number of resets before the units were taken.
    pub(crate) resets: u64,
}

impl LeaseWindow {
    /// The end of a window by Redis' clock. A decision at `at` said that the window ends after `reset_after_ms`, which is
    /// rounded up; windows end with a whole millisecond.
    pub(crate) fn end(at: Micros, reset_after_ms: u64) -> Micros {
        Micros((at.0 + reset_after_ms * 1000) / 1000 * 1000)
    }
}
