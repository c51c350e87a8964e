//! The metrics of what is held or stored: open leases and reservations, buffered charges, and deferred jobs.

use std::sync::OnceLock;

use metrics::Gauge;
use weir_redis::deferred::QueueUse;

use crate::metrics::registry::Registry;

/// The gauges.
pub(crate) struct StockMeters {
    buffered: Gauge,
    leases: Gauge,
    reservations: Gauge,
    /// Registered by a gate that defers jobs.
    deferred: OnceLock<[Gauge; 3]>,
}

/// The numbers of things that a gate holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stock {
    pub(crate) buffered: u64,
    pub(crate) leases: u64,
    pub(crate) reservations: u64,
}

impl StockMeters {
    pub(crate) fn new(names: Registry<'_>) -> Self {
        Self {
            buffered: names.gauge(
                "weir_buffered_charges",
                "Records and commits that the gate holds until Redis returns.",
            ),
            leases: names.gauge(
                "weir_open_concurrency_leases",
                "Leases of concurrency limits that this gate granted and that are neither released through it nor expired.",
            ),
            reservations: names.gauge(
                "weir_open_reservations",
                "Reservations that this gate made and that are neither committed through it nor expired.",
            ),
            deferred: OnceLock::new(),
        }
    }

    /// Sets what this gate holds.
    #[expect(clippy::cast_precision_loss, reason = "gauges are doubles")]
    pub(crate) fn set(&self, stock: Stock) {
        let Stock { buffered, leases, reservations } = stock;
        self.buffered.set(buffered as f64);
        self.leases.set(leases as f64);
        self.reservations.set(reservations as f64);
    }

    /// Sets the use of the queues of all tenants.
    #[expect(clippy::cast_precision_loss, reason = "gauges are doubles")]
    pub(crate) fn set_deferred(&self, names: Registry<'_>, usage: QueueUse) {
        let [waiting, bytes, failed] = self.deferred.get_or_init(|| {
            [
                names.gauge(
                    "weir_deferred_waiting_jobs",
                    "Waiting deferred jobs of all tenants. Every gate reports the same number.",
                ),
                names.gauge("weir_deferred_waiting_bytes", "Bytes of all waiting deferred jobs."),
                names.gauge(
                    "weir_deferred_failed_jobs",
                    "Deferred jobs of all tenants that were not delivered in time and are stored as dead letters.",
                ),
            ]
        });
        waiting.set(usage.waiting as f64);
        bytes.set(usage.bytes as f64);
        failed.set(usage.failed as f64);
    }
}
