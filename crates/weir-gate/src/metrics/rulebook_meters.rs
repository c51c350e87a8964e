//! The metrics of the rulebook: its version and age, its loads, and the signals that announce newer ones.

use std::sync::OnceLock;
use std::time::Duration;

use metrics::{Counter, Gauge};

use crate::metrics::registry::Registry;

pub(crate) struct RulebookMeters {
    version: Gauge,
    /// Registered with the first rulebook.
    age: OnceLock<Gauge>,
    /// The age of the disk copy, registered with the first copy.
    copy_age: OnceLock<Gauge>,
    stale: Gauge,
    left_out: Gauge,
    polls: Counter,
    signals_malformed: Counter,
    loads: Counter,
    lineage_changes: Counter,
    failures: Counter,
}

impl RulebookMeters {
    pub(crate) fn new(names: Registry<'_>) -> Self {
        Self {
            version: names.gauge("weir_rulebook_version", "The version of the rulebook in force."),
            age: OnceLock::new(),
            copy_age: OnceLock::new(),
            stale: names.gauge(
                "weir_rulebook_stale",
                "1 while the age of the rulebook exceeds WEIR_RULEBOOK_MAX_AGE_S, or an announced change is late.",
            ),
            left_out: names.gauge(
                "weir_rulebook_left_out",
                "Keys, rules, overrides and profiles whose newest revision this gate could not read.",
            ),
            polls: names.counter(
                "weir_rulebook_polls_total",
                "Queries of Postgres for a newer rulebook.",
            ),
            signals_malformed: names.counter(
                "weir_signals_malformed_total",
                "Malformed messages on Weir's channels in Redis.",
            ),
            loads: names.counter("weir_rulebook_loads_total", "Newer rulebooks that were loaded."),
            lineage_changes: names.counter(
                "weir_rulebook_lineage_changes_total",
                "Times that the gate loaded everything because Postgres had another history.",
            ),
            failures: names.counter(
                "weir_rulebook_load_failures_total",
                "Failed attempts to load a rulebook. The gate retries.",
            ),
        }
    }

    /// Sets the age of the rulebook, if there is one, and whether it is stale.
    pub(crate) fn set_age(&self, names: Registry<'_>, age: Option<Duration>, stale: bool) {
        if let Some(age) = age {
            let help = "Seconds since the gate last compared its rulebook with Postgres. Absent until a rulebook is loaded.";
            let gauge = self.age.get_or_init(|| names.gauge("weir_rulebook_age_seconds", help));
            gauge.set(age.as_secs_f64());
        }
        self.stale.set(f64::from(u8::from(stale)));
    }

    /// Sets the time for which the disk copy has been older than the rulebook in force, if there is a copy.
    pub(crate) fn set_copy_age(&self, names: Registry<'_>, age: Option<Duration>) {
        let Some(age) = age else { return };
        let help = "Seconds for which the copy on disk has been older than the rulebook in force.";
        let gauge =
            self.copy_age.get_or_init(|| names.gauge("weir_rulebook_copy_age_seconds", help));
        gauge.set(age.as_secs_f64());
    }

    /// Counts a rulebook that was loaded. `left_out` is the number of its items that could not be read.
    pub(crate) fn applied(&self, version: u64, left_out: usize) {
        self.loads.increment(1);
        #[expect(clippy::cast_precision_loss, reason = "gauges are doubles")]
        self.version.set(version as f64);
        #[expect(clippy::cast_precision_loss, reason = "gauges are doubles")]
        self.left_out.set(left_out as f64);
    }

    /// Counts a failed attempt to load a rulebook.
    pub(crate) fn failed(&self) {
        self.failures.increment(1);
    }

    /// Counts a query for a newer rulebook.
    pub(crate) fn polled(&self) {
        self.polls.increment(1);
    }

    /// Counts a change of lineage: the history of Postgres differs from that of the rulebook in force.
    pub(crate) fn lineage_changed(&self) {
        self.lineage_changes.increment(1);
    }

    /// Counts a signal that is neither a version nor a subject.
    pub(crate) fn signal_malformed(&self) {
        self.signals_malformed.increment(1);
    }
}
