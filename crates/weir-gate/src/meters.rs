//! The metrics of a gate. Labels are bounded: never a tenant, a key or a subject.
//!
//! Each gate has its own recorder, so the metrics of several gates in one process do not mix.

use std::sync::OnceLock;
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use weir_domain::request::Operation;
use weir_domain::time::Timestamp;
use weir_redis::error::RedisError;
use weir_redis::limiter::RedisHealth;
use weir_wire::check::{AnswerCode, CheckAnswer, Degraded};
use weir_wire::words::Mode;

use crate::primary_meters;
use crate::undecided::UNDECIDED_REASONS;

/// The metrics of one gate.
pub(crate) struct Meters {
    handle: PrometheusHandle,
    allowed: Counter,
    recorded: Counter,
    denied: Counter,
    near_limit: Counter,
    shadow_denied: Counter,
    cached_denials: Counter,
    leased: Counter,
    lost_units: Counter,
    tenant_rate_denied: Counter,
    degraded: [(Degraded, Counter); 3],
    undecided: Vec<(&'static str, Counter)>,
    seconds: Histogram,
    redis_up: Gauge,
    redis_functions: Gauge,
    redis_script_loads: Counter,
    redis_data_lost: Counter,
    redis_seconds: Histogram,
    redis_errors: Vec<(&'static str, Counter)>,
    redis_unreadable: Counter,
    rulebook_version: Gauge,
    /// The age of the rulebook, registered with the first rulebook.
    rulebook_age: OnceLock<Gauge>,
    /// The age of the disk copy, registered with the first copy.
    copy_age: OnceLock<Gauge>,
    rulebook_stale: Gauge,
    rulebook_polls: Counter,
    signals_malformed: Counter,
    rulebook_loads: Counter,
    rulebook_lineage_changes: Counter,
    rulebook_failures: Counter,
    left_out: Gauge,
    stats_dropped: Counter,
    stats_failures: Counter,
    stats_rows: Gauge,
    stats_seconds: Histogram,
    stats_written_at: Gauge,
    recorder: PrometheusRecorder,
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
        let labelled = |name: &'static str, label: &'static str, value: &'static str| {
            let key = Key::from_parts(name, vec![Label::from_static_parts(label, value)]);
            recorder.register_counter(&key, &METADATA)
        };
        let outcome = |outcome| labelled("weir_checks_total", "outcome", outcome);
        let degraded =
            |answer, word| (answer, labelled("weir_degraded_checks_total", "answer", word));
        let redis_error = |kind| (kind, labelled("weir_redis_errors_total", "kind", kind));
        let counter = |name| recorder.register_counter(&Key::from_static_name(name), &METADATA);
        let gauge = |name| recorder.register_gauge(&Key::from_static_name(name), &METADATA);
        let histogram = |name| recorder.register_histogram(&Key::from_static_name(name), &METADATA);
        Self {
            allowed: outcome("allowed"),
            recorded: outcome("recorded"),
            denied: outcome("denied"),
            near_limit: counter("weir_near_limit_checks_total"),
            shadow_denied: counter("weir_shadow_denied_checks_total"),
            cached_denials: counter("weir_cached_denials_total"),
            leased: counter("weir_leased_checks_total"),
            lost_units: counter("weir_lost_lease_units_total"),
            tenant_rate_denied: counter("weir_tenant_rate_denied_total"),
            degraded: [
                degraded(Degraded::Allow, "allow"),
                degraded(Degraded::Deny, "deny"),
                degraded(Degraded::Local, "local"),
            ],
            undecided: UNDECIDED_REASONS
                .map(|reason| (reason, labelled("weir_authorize_errors_total", "reason", reason)))
                .into(),
            seconds: histogram("weir_check_seconds"),
            redis_up: gauge("weir_redis_up"),
            redis_functions: gauge("weir_redis_functions"),
            redis_script_loads: counter("weir_redis_script_loads_total"),
            redis_data_lost: counter("weir_redis_data_lost_total"),
            redis_seconds: histogram("weir_redis_script_seconds"),
            redis_errors: RedisError::labels().map(redis_error).collect(),
            redis_unreadable: redis_error("unreadable").1,
            rulebook_version: gauge("weir_rulebook_version"),
            rulebook_age: OnceLock::new(),
            copy_age: OnceLock::new(),
            rulebook_stale: gauge("weir_rulebook_stale"),
            rulebook_polls: counter("weir_rulebook_polls_total"),
            signals_malformed: counter("weir_signals_malformed_total"),
            rulebook_loads: counter("weir_rulebook_loads_total"),
            rulebook_lineage_changes: counter("weir_rulebook_lineage_changes_total"),
            rulebook_failures: counter("weir_rulebook_load_failures_total"),
            left_out: gauge("weir_rulebook_left_out"),
            stats_dropped: counter("weir_stats_dropped_total"),
            stats_failures: counter("weir_stats_flush_failures_total"),
            stats_rows: gauge("weir_stats_rows"),
            stats_seconds: histogram("weir_stats_flush_seconds"),
            stats_written_at: gauge("weir_stats_last_success_timestamp_seconds"),
            handle: recorder.handle(),
            recorder,
        }
    }

    /// Sets the age of the rulebook, if there is one, and whether it is stale.
    pub(crate) fn rulebook_age(&self, age: Option<Duration>, stale: bool) {
        self.set_once_known(&self.rulebook_age, "weir_rulebook_age_seconds", age);
        self.rulebook_stale.set(f64::from(u8::from(stale)));
    }

    /// Sets the time for which the disk copy has been older than the rulebook in force, if there is a copy.
    pub(crate) fn copy_age(&self, age: Option<Duration>) {
        self.set_once_known(&self.copy_age, "weir_rulebook_copy_age_seconds", age);
    }

    fn set_once_known(&self, gauge: &OnceLock<Gauge>, name: &'static str, age: Option<Duration>) {
        let Some(age) = age else { return };
        let register = || self.recorder.register_gauge(&Key::from_static_name(name), &METADATA);
        gauge.get_or_init(register).set(age.as_secs_f64());
    }

    /// The metrics in Prometheus' text format, those of Redis included.
    pub(crate) fn render(&self, redis: &RedisHealth) -> String {
        self.redis_up.set(f64::from(u8::from(redis.up)));
        self.redis_functions.set(f64::from(u8::from(redis.functions)));
        self.redis_script_loads.absolute(redis.script_loads);
        self.upkeep();
        let mut text = self.handle.render();
        primary_meters::render(&redis.primaries, &mut text);
        text
    }

    /// Adds measurements to their buckets. Call it every few seconds: until then each measurement uses memory.
    pub(crate) fn upkeep(&self) {
        self.handle.run_upkeep();
    }

    pub(crate) fn decided(&self, operation: Operation, answer: &CheckAnswer, took: Duration) {
        if operation == Operation::Record && answer.code != Some(AnswerCode::TenantRate) {
            self.recorded.increment(1);
        } else {
            self.outcome(answer);
        }
        for (_, counter) in self.degraded.iter().filter(|(kind, _)| answer.degraded == Some(*kind))
        {
            counter.increment(1);
        }
        if answer.code == Some(AnswerCode::TenantRate) {
            self.tenant_rate_denied.increment(1);
        }
        self.seconds.record(took.as_secs_f64());
    }

    /// Counts a request of a proxy that was not decided for this reason.
    pub(crate) fn undecided(&self, reason: &'static str) {
        for (_, counter) in self.undecided.iter().filter(|(known, _)| *known == reason) {
            counter.increment(1);
        }
    }

    fn outcome(&self, answer: &CheckAnswer) {
        if answer.allowed { &self.allowed } else { &self.denied }.increment(1);
        if near_limit(answer) {
            self.near_limit.increment(1);
        }
        if answer.limits.iter().any(|limit| limit.mode == Mode::Shadow && !limit.allowed) {
            self.shadow_denied.increment(1);
        }
    }

    /// Counts a check that the denial cache answered.
    pub(crate) fn denied_from_cache(&self) {
        self.cached_denials.increment(1);
    }

    /// Counts a check that was admitted with leased units.
    pub(crate) fn leased(&self) {
        self.leased.increment(1);
    }

    /// Counts leased units that could neither be used nor returned.
    pub(crate) fn lost_units(&self, units: u64) {
        self.lost_units.increment(units);
    }

    /// Records the duration of a call of Redis, answered or not.
    pub(crate) fn redis_called(&self, took: Duration) {
        self.redis_seconds.record(took.as_secs_f64());
    }

    /// Counts a check that Redis did not decide. `label` names the reason.
    pub(crate) fn redis_failed(&self, label: &'static str) {
        for (_, counter) in self.redis_errors.iter().filter(|(kind, _)| *kind == label) {
            counter.increment(1);
        }
    }

    /// Counts a loss of Redis' data.
    pub(crate) fn redis_data_lost(&self) {
        self.redis_data_lost.increment(1);
    }

    /// Counts a signal that is neither a version nor a subject.
    pub(crate) fn signal_malformed(&self) {
        self.signals_malformed.increment(1);
    }

    /// Counts a query for a newer rulebook.
    pub(crate) fn rulebook_polled(&self) {
        self.rulebook_polls.increment(1);
    }

    /// Counts a check with a key that holds a value of the wrong type.
    pub(crate) fn redis_unreadable(&self) {
        self.redis_unreadable.increment(1);
    }

    pub(crate) fn rulebook_applied(&self, version: u64, left_out: usize) {
        #[expect(clippy::cast_precision_loss, reason = "gauges are doubles")]
        let (version, left_out) = (version as f64, left_out as f64);
        self.rulebook_loads.increment(1);
        self.rulebook_version.set(version);
        self.left_out.set(left_out);
    }

    /// Records a collection of the statistics: `dropped` decisions could not be counted, and `rows` rows are in memory.
    pub(crate) fn stats_collected(&self, dropped: u64, rows: usize) {
        self.stats_dropped.increment(dropped);
        #[expect(clippy::cast_precision_loss, reason = "gauges are doubles")]
        self.stats_rows.set(rows as f64);
    }

    /// Records a write of the statistics.
    pub(crate) fn stats_written(&self, took: Duration, now: Timestamp) {
        #[expect(clippy::cast_precision_loss, reason = "gauges are doubles")]
        self.stats_written_at.set(now.as_millis() as f64 / 1000.0);
        self.stats_seconds.record(took.as_secs_f64());
    }

    pub(crate) fn stats_failed(&self) {
        self.stats_failures.increment(1);
    }

    /// Counts a change of lineage: the history of Postgres differs from that of the rulebook in force.
    pub(crate) fn rulebook_lineage_changed(&self) {
        self.rulebook_lineage_changes.increment(1);
    }

    pub(crate) fn rulebook_failed(&self) {
        self.rulebook_failures.increment(1);
    }
}

/// Whether the check was admitted with less than a fifth of its limit left.
fn near_limit(answer: &CheckAnswer) -> bool {
    let left = answer.limit.zip(answer.remaining);
    answer.allowed && left.is_some_and(|(limit, remaining)| remaining.saturating_mul(5) < limit)
}

impl std::fmt::Debug for Meters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meters")
    }
}
