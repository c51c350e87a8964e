//! The metrics of a listener, in Prometheus' text format.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use super::overload::Shed;
use super::registry::Full;

/// The counters of one listener.
#[derive(Debug, Default)]
pub struct ListenerMeters {
    open: AtomicU64,
    accepted: AtomicU64,
    accept_failures: AtomicU64,
    refused_listener: AtomicU64,
    refused_address: AtomicU64,
    evicted: AtomicU64,
    cut: AtomicU64,
    malformed: AtomicU64,
    shed_waited: AtomicU64,
    shed_in_flight: AtomicU64,
}

/// A metric's name, its type, and a value for each reason.
type Family<'a> = (&'a str, &'a str, &'a [(&'a str, &'a AtomicU64)]);

impl ListenerMeters {
    /// The counters in Prometheus' text format, labelled with the listener's name.
    pub fn render(&self, listener: &str) -> String {
        let mut text = String::new();
        let families: [Family<'_>; 7] = [
            ("weir_connections", "gauge", &[("", &self.open)]),
            ("weir_connections_accepted_total", "counter", &[("", &self.accepted)]),
            (
                "weir_connections_refused_total",
                "counter",
                &[
                    ("listener_full", &self.refused_listener),
                    ("address_full", &self.refused_address),
                ],
            ),
            (
                "weir_connections_closed_total",
                "counter",
                &[("evicted", &self.evicted), ("age", &self.cut)],
            ),
            ("weir_accept_failures_total", "counter", &[("", &self.accept_failures)]),
            ("weir_malformed_requests_total", "counter", &[("", &self.malformed)]),
            (
                "weir_shed_requests_total",
                "counter",
                &[("waited", &self.shed_waited), ("in_flight", &self.shed_in_flight)],
            ),
        ];
        for (family, kind, samples) in families {
            let _ = writeln!(text, "# TYPE {family} {kind}");
            for (reason, value) in samples {
                let reason = match *reason {
                    "" => String::new(),
                    reason => format!(",reason=\"{reason}\""),
                };
                let value = value.load(Ordering::Relaxed);
                let _ = writeln!(text, "{family}{{listener=\"{listener}\"{reason}}} {value}");
            }
        }
        text
    }

    pub(super) fn opened(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
        self.accepted.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn refused(&self, full: Full) {
        match full {
            Full::Listener => &self.refused_listener,
            Full::Address => &self.refused_address,
        }
        .fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn evicted(&self, count: usize) {
        self.evicted.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Counts a connection that was cut at its maximum age.
    pub(super) fn cut(&self) {
        self.cut.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn accept_failed(&self) {
        self.accept_failures.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn malformed(&self) {
        self.malformed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn shed(&self, shed: Shed) {
        match shed {
            Shed::Waited => &self.shed_waited,
            Shed::InFlight => &self.shed_in_flight,
        }
        .fetch_add(1, Ordering::Relaxed);
    }
}
