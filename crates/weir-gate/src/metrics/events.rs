//! The events of reservations, leases, deferred jobs and buffered charges that a gate counts, with their names in the metrics.

/// An event in the life of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReservationEvent {
    /// Units were held.
    Reserved,
    /// Its cost was charged, and its units were released.
    Committed,
    /// Its units were released.
    Cancelled,
    /// A commit came when it was no longer open.
    Late,
}

impl ReservationEvent {
    pub(crate) const ALL: [Self; 4] =
        [Self::Reserved, Self::Committed, Self::Cancelled, Self::Late];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::Committed => "committed",
            Self::Cancelled => "cancelled",
            Self::Late => "late",
        }
    }
}

/// An event in the life of a lease of a concurrency limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseEvent {
    /// A check took it.
    Granted,
    /// It began anew.
    Renewed,
    /// Its holder released it.
    Released,
    /// A renewal or release came when it had ended.
    Ended,
}

impl LeaseEvent {
    pub(crate) const ALL: [Self; 4] = [Self::Granted, Self::Renewed, Self::Released, Self::Ended];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Renewed => "renewed",
            Self::Released => "released",
            Self::Ended => "ended",
        }
    }
}

/// An event in the life of a deferred job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeferredEvent {
    /// It was stored.
    Stored,
    /// It was delivered.
    Delivered,
    /// A delivery failed; it is repeated.
    Undelivered,
    /// It became a dead letter.
    Failed,
    /// It was cancelled by a caller.
    Cancelled,
}

impl DeferredEvent {
    pub(crate) const ALL: [Self; 5] =
        [Self::Stored, Self::Delivered, Self::Undelivered, Self::Failed, Self::Cancelled];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Delivered => "delivered",
            Self::Undelivered => "undelivered",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// An event in the life of a record or commit that found Redis away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BufferEvent {
    /// It waits for Redis.
    Buffered,
    /// Redis charged it later.
    Sent,
    /// It was not charged, or possibly so: the buffer was full, or it could not be repeated safely.
    Dropped,
}

impl BufferEvent {
    pub(crate) const ALL: [Self; 3] = [Self::Buffered, Self::Sent, Self::Dropped];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Buffered => "buffered",
            Self::Sent => "sent",
            Self::Dropped => "dropped",
        }
    }
}
