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
    flooded: AtomicU64,
    failed_handshakes: AtomicU64,
    malformed: AtomicU64,
    shed_waited: AtomicU64,
    shed_in_flight: AtomicU64,
}

/// The counts of each reason of a metric; a metric without reasons has one count.
type Samples<'a> = &'a [(&'a str, &'a AtomicU64)];

impl ListenerMeters {
    /// The counters in Prometheus' text format, labelled with the listener's name.
    pub fn render(&self, listener: &str) -> String {
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, samples: Samples<'_>| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (reason, value) in samples {
                let reason = match *reason {
                    "" => String::new(),
                    reason => format!(",reason=\"{reason}\""),
                };
                let value = value.load(Ordering::Relaxed);
                let _ = writeln!(text, "{name}{{listener=\"{listener}\"{reason}}} {value}");
            }
        };
        family("weir_connections", "gauge", "Open connections.", &[("", &self.open)]);
        family(
            "weir_connections_accepted_total",
            "counter",
            "Accepted connections.",
            &[("", &self.accepted)],
        );
        family(
            "weir_connections_refused_total",
            "counter",
            "Connections answered with 503 because there are too many, by reason.",
            &[("listener_full", &self.refused_listener), ("address_full", &self.refused_address)],
        );
        family(
            "weir_connections_closed_total",
            "counter",
            "Connections that the listener closed, by reason.",
            &[("evicted", &self.evicted), ("age", &self.cut), ("flood", &self.flooded)],
        );
        family(
            "weir_accept_failures_total",
            "counter",
            "Connections that could not be accepted.",
            &[("", &self.accept_failures)],
        );
        family(
            "weir_tls_handshake_failures_total",
            "counter",
            "TLS handshakes that failed.",
            &[("", &self.failed_handshakes)],
        );
        family(
            "weir_malformed_requests_total",
            "counter",
            "Requests refused by the strict parser.",
            &[("", &self.malformed)],
        );
        family(
            "weir_shed_requests_total",
            "counter",
            "Requests refused with 503 because of overload, by reason.",
            &[("waited", &self.shed_waited), ("in_flight", &self.shed_in_flight)],
        );
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

    /// Counts an HTTP/2 connection with too many control frames.
    pub(super) fn flooded(&self) {
        self.flooded.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn handshake_failed(&self) {
        self.failed_handshakes.fetch_add(1, Ordering::Relaxed);
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
