//! What a gate counts for Prometheus: bounded in labels, never a tenant, key or subject.
//!
//! Each gate has its own recorder, so several in one process do not mix.

use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use weir_wire::check::CheckAnswer;

/// A gate's counters.
pub(crate) struct Meters {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    allowed: Counter,
    denied: Counter,
    degraded: Counter,
    seconds: Histogram,
    rulebook_version: Gauge,
    rulebook_failures: Counter,
    left_out: Gauge,
    stats_dropped: Counter,
    stats_failures: Counter,
    stats_rows: Gauge,
    stats_seconds: Histogram,
}

const METADATA: Metadata<'static> = Metadata::new("weir_gate", Level::INFO, None);
const BUCKETS: [f64; 12] =
    [0.000_1, 0.000_25, 0.000_5, 0.001, 0.002, 0.004, 0.006, 0.008, 0.01, 0.02, 0.05, 0.1];

impl Meters {
    pub(crate) fn new() -> Self {
        let recorder = PrometheusBuilder::new()
            .set_buckets(&BUCKETS)
            .expect("the buckets are not empty")
            .build_recorder();
        let outcome = |outcome: &'static str| {
            let labels = vec![Label::from_static_parts("outcome", outcome)];
            let key = Key::from_parts("weir_checks_total", labels);
            recorder.register_counter(&key, &METADATA)
        };
        let counter = |name| recorder.register_counter(&Key::from_static_name(name), &METADATA);
        let gauge = |name| recorder.register_gauge(&Key::from_static_name(name), &METADATA);
        Self {
            allowed: outcome("allowed"),
            denied: outcome("denied"),
            degraded: counter("weir_degraded_checks_total"),
            seconds: recorder
                .register_histogram(&Key::from_static_name("weir_check_seconds"), &METADATA),
            rulebook_version: gauge("weir_rulebook_version"),
            rulebook_failures: counter("weir_rulebook_load_failures_total"),
            left_out: gauge("weir_rulebook_left_out"),
            stats_dropped: counter("weir_stats_dropped_total"),
            stats_failures: counter("weir_stats_flush_failures_total"),
            stats_rows: gauge("weir_stats_rows"),
            stats_seconds: recorder
                .register_histogram(&Key::from_static_name("weir_stats_flush_seconds"), &METADATA),
            handle: recorder.handle(),
            recorder,
        }
    }

    /// As Prometheus reads it.
    pub(crate) fn render(&self) -> String {
        self.handle.run_upkeep();
        self.handle.render()
    }

    pub(crate) fn decided(&self, answer: &CheckAnswer, took: Duration) {
        if answer.allowed { &self.allowed } else { &self.denied }.increment(1);
        if answer.degraded.is_some() {
            self.degraded.increment(1);
        }
        self.seconds.record(took.as_secs_f64());
    }

    pub(crate) fn redis_error(&self, kind: &'static str) {
        let labels = vec![Label::from_static_parts("kind", kind)];
        let key = Key::from_parts("weir_redis_errors_total", labels);
        self.recorder.register_counter(&key, &METADATA).increment(1);
    }

    pub(crate) fn rulebook_applied(&self, version: u64, left_out: usize) {
        #[expect(clippy::cast_precision_loss, reason = "gauges are doubles")]
        let (version, left_out) = (version as f64, left_out as f64);
        self.rulebook_version.set(version);
        self.left_out.set(left_out);
    }

    /// Statistics were gathered: how many decisions could not be, and how many rows are in memory.
    pub(crate) fn stats_gathered(&self, dropped: u64, rows: usize) {
        self.stats_dropped.increment(dropped);
        #[expect(clippy::cast_precision_loss, reason = "gauges are doubles")]
        self.stats_rows.set(rows as f64);
    }

    pub(crate) fn stats_written(&self, took: Duration) {
        self.stats_seconds.record(took.as_secs_f64());
    }

    pub(crate) fn stats_failed(&self) {
        self.stats_failures.increment(1);
    }

    pub(crate) fn rulebook_failed(&self) {
        self.rulebook_failures.increment(1);
    }
}

impl std::fmt::Debug for Meters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meters")
    }
}
