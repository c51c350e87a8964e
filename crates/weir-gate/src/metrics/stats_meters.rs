//! The metrics of the statistics: what is in memory, and how it is written to Postgres.

use std::time::Duration;

use metrics::{Counter, Gauge, Histogram};
use weir_domain::time::Timestamp;

use crate::metrics::registry::Registry;

pub(crate) struct StatsMeters {
    dropped: Counter,
    failures: Counter,
    rows: Gauge,
    seconds: Histogram,
    written_at: Gauge,
}

impl StatsMeters {
    pub(crate) fn new(names: Registry<'_>) -> Self {
        Self {
            dropped: names
                .counter("weir_stats_dropped_total", "Decisions that could not be recorded."),
            failures: names.counter(
                "weir_stats_flush_failures_total",
                "Failed attempts to write statistics. The gate retries.",
            ),
            rows: names.gauge("weir_stats_rows", "Rows of statistics in memory."),
            seconds: names.histogram(
                "weir_stats_flush_seconds",
                "Seconds to collect and write the statistics.",
            ),
            written_at: names.gauge(
                "weir_stats_last_success_timestamp_seconds",
                "Unix time of the last successful write of statistics.",
            ),
        }
    }

    /// Records a collection of the statistics: `dropped` decisions could not be counted, and `rows` rows are in memory.
    pub(crate) fn collected(&self, dropped: u64, rows: usize) {
        self.dropped.increment(dropped);
        #[expect(clippy::cast_precision_loss, reason = "gauges are doubles")]
        self.rows.set(rows as f64);
    }

    /// Records a write of the statistics.
    pub(crate) fn written(&self, took: Duration, now: Timestamp) {
        #[expect(clippy::cast_precision_loss, reason = "gauges are doubles")]
        self.written_at.set(now.as_millis() as f64 / 1000.0);
        self.seconds.record(took.as_secs_f64());
    }

    /// Counts a failed attempt to write the statistics.
    pub(crate) fn failed(&self) {
        self.failures.increment(1);
    }
}
