//! The registration of a gate's metrics, each with its help text.

use std::sync::atomic::{AtomicU64, Ordering};

use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::PrometheusRecorder;

pub(crate) const METADATA: Metadata<'static> = Metadata::new("weir_gate", Level::INFO, None);

/// Registers metrics. A help text names the unit of a metric that has one.
#[derive(Clone, Copy)]
pub(crate) struct Registry<'r>(pub(crate) &'r PrometheusRecorder);

/// A counter whose value the gate itself can read.
#[derive(Debug)]
pub(crate) struct ReadableCounter {
    value: AtomicU64,
    shown: Counter,
}

impl ReadableCounter {
    #[inline]
    pub(crate) fn increment(&self) {
        self.value.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.value.load(Ordering::Relaxed)
    }

    /// Copies the value to the metric. Call it before the metrics are rendered.
    pub(crate) fn publish(&self) {
        self.shown.absolute(self.get());
    }
}

impl Registry<'_> {
    pub(crate) fn counter(&self, name: &'static str, help: &'static str) -> Counter {
        self.labelled(name, help, &[])
    }

    pub(crate) fn readable(&self, name: &'static str, help: &'static str) -> ReadableCounter {
        ReadableCounter { value: AtomicU64::new(0), shown: self.counter(name, help) }
    }

    /// One counter of a family. All counters of a family have the same help text.
    pub(crate) fn labelled(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &[(&'static str, &'static str)],
    ) -> Counter {
        self.0.describe_counter(name.into(), None, help.into());
        let label = |&(label, value)| Label::from_static_parts(label, value);
        let key = Key::from_parts(name, labels.iter().map(label).collect::<Vec<_>>());
        self.0.register_counter(&key, &METADATA)
    }

    pub(crate) fn gauge(&self, name: &'static str, help: &'static str) -> Gauge {
        self.0.describe_gauge(name.into(), None, help.into());
        self.0.register_gauge(&Key::from_static_name(name), &METADATA)
    }

    pub(crate) fn histogram(&self, name: &'static str, help: &'static str) -> Histogram {
        self.0.describe_histogram(name.into(), None, help.into());
        self.0.register_histogram(&Key::from_static_name(name), &METADATA)
    }
}
