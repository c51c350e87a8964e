//! The events that a gate counts by one metric each, with their names there.

use metrics::Counter;

use super::registry::Registry;

/// The events of one metric. Its label `event` has their names.
pub(crate) trait Event: Copy + Eq + 'static {
    const METRIC: &'static str;
    const HELP: &'static str;
    const ALL: &'static [(Self, &'static str)];
}

/// A counter for each event of a metric.
pub(crate) struct EventCounters<E>(Vec<(E, Counter)>);

impl<E: Event> EventCounters<E> {
    pub(crate) fn new(names: Registry<'_>) -> Self {
        let counter = |word| names.labelled(E::METRIC, E::HELP, &[("event", word)]);
        Self(E::ALL.iter().map(|&(event, word)| (event, counter(word))).collect())
    }

    pub(crate) fn count(&self, event: E, count: u64) {
        for (_, counter) in self.0.iter().filter(|(known, _)| *known == event) {
            counter.increment(count);
        }
    }
}

macro_rules! events {
    ($($(#[$doc:meta])* $name:ident: $metric:literal, $help:literal {
        $($(#[$of_event:meta])* $event:ident = $word:literal,)+
    })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum $name {
            $($(#[$of_event])* $event,)+
        }

        impl Event for $name {
            const METRIC: &'static str = $metric;
            const HELP: &'static str = $help;
            const ALL: &'static [(Self, &'static str)] = &[$((Self::$event, $word),)+];
        }
    )+};
}

events! {
    /// An event in the life of a reservation.
    ReservationEvent: "weir_reservations_total", "Reservations by event." {
        /// Units were held.
        Reserved = "reserved",
        /// Its cost was charged, and its units were released.
        Committed = "committed",
        /// Its units were released.
        Cancelled = "cancelled",
        /// A commit came when it was no longer open.
        Late = "late",
    }

    /// An event in the life of a lease of a concurrency limit.
    LeaseEvent: "weir_concurrency_leases_total", "Leases of concurrency limits by event." {
        /// A check took it.
        Granted = "granted",
        /// It began anew.
        Renewed = "renewed",
        /// Its holder released it.
        Released = "released",
        /// A renewal or release came when it had ended.
        Ended = "ended",
    }

    /// An event in the life of a deferred job.
    DeferredEvent: "weir_deferred_jobs_total",
        "Deferred jobs by event. `undelivered`: a failed delivery that will be retried."
    {
        /// It was stored.
        Stored = "stored",
        /// It was delivered.
        Delivered = "delivered",
        /// A delivery failed; it is repeated.
        Undelivered = "undelivered",
        /// It became a dead letter.
        Failed = "failed",
        /// It was cancelled by a caller.
        Cancelled = "cancelled",
    }

    /// An event in the life of a record or commit that found Redis away.
    BufferEvent: "weir_buffered_charges_total",
        "Records and commits that found Redis unreachable, by event: buffered, sent later, or dropped."
    {
        /// It waits for Redis.
        Buffered = "buffered",
        /// Redis charged it later.
        Sent = "sent",
        /// It was not charged, or possibly so: the buffer was full, or it could not be repeated safely.
        Dropped = "dropped",
    }
}
