//! The events that wake a gate.

use weir_domain::subject::SubjectKey;

/// An event on the signal, or its absence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// This version was announced.
    Announced(u64),
    /// A subscription began. Earlier messages were possibly lost.
    Subscribed,
    /// Units were refunded to this subject.
    Refunded(SubjectKey),
    /// This subject's counters were reset.
    Reset(SubjectKey),
    /// A message that is neither a version nor a subject.
    Malformed,
    /// The subscription ended, or Redis does not answer on it. Detected within two seconds.
    Disconnected,
    /// Redis lost its data, counters included. Detected within about half a second.
    DataLost,
}
