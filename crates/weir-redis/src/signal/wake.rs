//! The events that wake a gate.

use weir_domain::id::TenantId;
use weir_domain::subject::SubjectKey;

use crate::placement::Buckets;

/// An event on the signal, or its absence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// This version was announced.
    Announced(u64),
    /// A subscription began. Announcements about these buckets are received; earlier messages were possibly lost.
    Subscribed(Buckets),
    /// Units were refunded to this subject.
    Refunded(SubjectKey),
    /// The counters of this subject of the tenant were reset.
    Reset(TenantId, SubjectKey),
    /// A message that is neither a version nor a subject.
    Malformed,
    /// A subscription ended, or Redis does not answer on it. Only announcements about these buckets are still received.
    /// Detected within two seconds.
    Disconnected(Buckets),
    /// Redis lost its data, counters included. Detected at once if Redis tracks keys, else within about half a second.
    DataLost,
}
