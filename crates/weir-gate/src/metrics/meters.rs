//! The metrics of a gate. Labels are bounded: never a tenant, a key or a subject.
//!
//! Each gate has its own recorder, so the metrics of several gates in one process do not mix.

use std::sync::OnceLock;
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use weir_domain::request::Operation;
use weir_domain::unmatched::Unmatched;
use weir_redis::deferred::QueueUse;
use weir_redis::error::RedisError;
use weir_redis::limiter::RedisHealth;
use weir_wire::check::{AnswerCode, CheckAnswer, Degraded};
use weir_wire::problem::ErrorCode;
use weir_wire::words::Mode;

use crate::metrics::events::{
    BufferEvent, DeferredEvent, EventCounters, LeaseEvent, ReservationEvent,
};
use crate::metrics::primary_meters;
use crate::metrics::refused_callers::{Interface, RefusedCallers};
use crate::metrics::registry::{ReadableCounter, Registry};
use crate::metrics::rls_meters::RlsMeters;
use crate::metrics::rulebook_meters::RulebookMeters;
use crate::metrics::stats_meters::StatsMeters;
use crate::metrics::stock_meters::{Stock, StockMeters};
use crate::requests::authorize_error::AUTHORIZE_ERRORS;

/// The metrics of one gate.
pub(crate) struct Meters {
    handle: PrometheusHandle,
    allowed: Counter,
    recorded: Counter,
    denied: Counter,
    near_limit: Counter,
    shadow_denied: Counter,
    cached_denials: ReadableCounter,
    leased: ReadableCounter,
    lost_units: Counter,
    pub(crate) reservations: EventCounters<ReservationEvent>,
    pub(crate) leases: EventCounters<LeaseEvent>,
    pub(crate) deferred: EventCounters<DeferredEvent>,
    pub(crate) buffered: EventCounters<BufferEvent>,
    stock: StockMeters,
    tenant_rate_denied: Counter,
    /// Counts of checks that no rule counted: the namespace, an attribute, the conditions.
    unmatched: [Counter; 3],
    exported_decisions: Counter,
    dropped_decisions: Counter,
    degraded: [(Degraded, Counter); 3],
    /// Counts of requests to `/authorize` that were allowed, denied and not decided.
    authorized: [Counter; 3],
    authorize_error: Vec<(&'static str, Counter)>,
    refused_callers: RefusedCallers,
    pub(crate) rls: RlsMeters,
    seconds: Histogram,
    redis_up: Gauge,
    redis_script_loads: Counter,
    redis_data_lost: Counter,
    pub(crate) redis_evicted: Counter,
    redis_seconds: Histogram,
    redis_errors: Vec<(&'static str, Counter)>,
    redis_unreadable: Counter,
    home_checks: Counter,
    home_failed_checks: Counter,
    pub(crate) rulebook: RulebookMeters,
    /// Registered with the first answer of a server.
    clock_offset: OnceLock<Gauge>,
    pub(crate) stats: StatsMeters,
    recorder: PrometheusRecorder,
}

const BUCKETS: [f64; 12] =
    [0.000_1, 0.000_25, 0.000_5, 0.001, 0.002, 0.004, 0.006, 0.008, 0.01, 0.02, 0.05, 0.1];

impl Meters {
    #[expect(clippy::too_many_lines, reason = "an entry for each metric, with its help text")]
    pub(crate) fn new() -> Self {
        let recorder = PrometheusBuilder::new()
            .set_buckets(&BUCKETS)
            .expect("the buckets are not empty")
            .build_recorder();
        let names = Registry(&recorder);
        let outcome = |outcome| {
            let help = "Checks by outcome. `recorded`: calls of /record.";
            names.labelled("weir_checks_total", help, &[("outcome", outcome)])
        };
        let degraded = |answer, word| {
            let help = "Checks that Redis did not decide, by the answer of on_store_failure.";
            (answer, names.labelled("weir_degraded_checks_total", help, &[("answer", word)]))
        };
        let authorized = |outcome| {
            let help = "Requests to /authorize by outcome. `error`: Weir returned no decision.";
            names.labelled("weir_authorize_requests_total", help, &[("outcome", outcome)])
        };
        let authorize_error = |reason| {
            let help = "Requests to /authorize that were answered with 503, by reason.";
            let labels = [("reason", reason)];
            (reason, names.labelled("weir_authorize_errors_total", help, &labels))
        };
        let unmatched = |reason| {
            let help = "Checks and records that no rule counted, by reason.";
            names.labelled("weir_unmatched_checks_total", help, &[("reason", reason)])
        };
        let redis_error = |kind| {
            let help = "Checks that Redis did not decide, by reason.";
            (kind, names.labelled("weir_redis_errors_total", help, &[("kind", kind)]))
        };
        Self {
            allowed: outcome("allowed"),
            recorded: outcome("recorded"),
            denied: outcome("denied"),
            near_limit: names.counter(
                "weir_near_limit_checks_total",
                "Checks that were allowed and left less than a fifth of a limit.",
            ),
            shadow_denied: names.counter(
                "weir_shadow_denied_checks_total",
                "Checks that a rule in shadow mode would have denied.",
            ),
            cached_denials: names.readable(
                "weir_cached_denials_total",
                "Checks denied from the gate's cache of denials, without Redis.",
            ),
            leased: names.readable(
                "weir_leased_checks_total",
                "Checks of leased rules that were admitted with units taken in advance.",
            ),
            lost_units: names.counter(
                "weir_lost_lease_units_total",
                "Leased units that the gate could neither use nor return.",
            ),
            reservations: EventCounters::new(names),
            leases: EventCounters::new(names),
            deferred: EventCounters::new(names),
            buffered: EventCounters::new(names),
            stock: StockMeters::new(names),
            exported_decisions: names.counter(
                "weir_exported_decisions_total",
                "Decisions that were delivered to WEIR_DECISIONS.",
            ),
            dropped_decisions: names.counter(
                "weir_dropped_decisions_total",
                "Decisions lost because the queue to WEIR_DECISIONS was full or a write failed.",
            ),
            tenant_rate_denied: names.counter(
                "weir_tenant_rate_denied_total",
                "Checks denied by their tenant's ceiling of checks per second.",
            ),
            unmatched: ["namespace", "attribute", "conditions"].map(unmatched),
            degraded: [
                degraded(Degraded::Allow, "allow"),
                degraded(Degraded::Deny, "deny"),
                degraded(Degraded::Local, "local"),
            ],
            authorized: ["allowed", "denied", "error"].map(authorized),
            authorize_error: AUTHORIZE_ERRORS.map(authorize_error).into(),
            refused_callers: RefusedCallers::new(&names),
            rls: RlsMeters::new(&names),
            seconds: names
                .histogram("weir_check_seconds", "Seconds from the request to the decision."),
            redis_up: names.gauge(
                "weir_redis_up",
                "1 while Redis decides checks. In a cluster, 0 while any primary is unreachable.",
            ),
            redis_script_loads: names.counter(
                "weir_redis_script_loads_total",
                "Calls that found the function missing in Redis.",
            ),
            redis_data_lost: names
                .counter("weir_redis_data_lost_total", "Times that Redis lost its data."),
            redis_evicted: names.counter(
                "weir_redis_evicted_keys_total",
                "Keys that Redis evicted because its memory was full, by its own count.",
            ),
            home_checks: names.counter(
                "weir_home_checks_total",
                "Checks, and returns of units, about which a gate of the home region was asked.",
            ),
            home_failed_checks: names.counter(
                "weir_home_failed_checks_total",
                "Those of them that the home region did not decide in time.",
            ),
            redis_seconds: names.histogram(
                "weir_redis_script_seconds",
                "Seconds that checks waited for Redis, including the time in the queue.",
            ),
            redis_errors: RedisError::labels().map(redis_error).collect(),
            redis_unreadable: redis_error("unreadable").1,
            rulebook: RulebookMeters::new(names),
            clock_offset: OnceLock::new(),
            stats: StatsMeters::new(names),
            handle: recorder.handle(),
            recorder,
        }
    }

    /// Sets the age of the rulebook, if there is one, and whether it is stale.
    pub(crate) fn rulebook_age(&self, age: Option<Duration>, stale: bool) {
        self.rulebook.set_age(Registry(&self.recorder), age, stale);
    }

    /// Sets the time for which the disk copy has been older than the rulebook in force, if there is a copy.
    pub(crate) fn copy_age(&self, age: Option<Duration>) {
        self.rulebook.set_copy_age(Registry(&self.recorder), age);
    }

    /// Sets the milliseconds by which the clock of the machine is ahead, if they are known.
    pub(crate) fn clock_ahead(&self, ahead_ms: Option<i64>) {
        let Some(ahead_ms) = ahead_ms else { return };
        let help = "Seconds by which the clock of the gate's machine is ahead of that of Postgres. Absent until a server has answered.";
        let names = Registry(&self.recorder);
        let register = || names.gauge("weir_clock_offset_seconds", help);
        #[expect(clippy::cast_precision_loss, reason = "gauges are doubles")]
        self.clock_offset.get_or_init(register).set(ahead_ms as f64 / 1000.0);
    }

    /// The metrics in Prometheus' text format, those of Redis included.
    pub(crate) fn render(&self, redis: &RedisHealth, stock: Stock) -> String {
        self.stock.set(stock);
        self.redis_up.set(f64::from(u8::from(redis.up)));
        self.redis_script_loads.absolute(redis.script_loads);
        self.cached_denials.publish();
        self.leased.publish();
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
        let records = matches!(operation, Operation::Record | Operation::Commit(_));
        if records && answer.code != Some(AnswerCode::TenantRate) {
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

    /// The counters of decisions that were exported and that were lost.
    pub(crate) fn decision_export(&self) -> (Counter, Counter) {
        (self.exported_decisions.clone(), self.dropped_decisions.clone())
    }

    /// Counts a request of a proxy that was decided.
    pub(crate) fn authorized(&self, allowed: bool) {
        self.authorized[usize::from(!allowed)].increment(1);
    }

    /// Counts a check that no rule counted.
    pub(crate) fn unmatched(&self, reason: Unmatched<'_>) {
        let at = match reason {
            Unmatched::Namespace => 0,
            Unmatched::Attribute(_) => 1,
            Unmatched::Conditions => 2,
        };
        self.unmatched[at].increment(1);
    }

    /// Counts a request of a proxy that was not decided for this reason.
    pub(crate) fn authorize_error(&self, reason: &'static str) {
        self.authorized[2].increment(1);
        for (_, counter) in self.authorize_error.iter().filter(|(known, _)| *known == reason) {
            counter.increment(1);
        }
    }

    fn outcome(&self, answer: &CheckAnswer) {
        if answer.allowed { &self.allowed } else { &self.denied }.increment(1);
        if near_limit(answer) {
            self.near_limit.increment(1);
        }
        if answer.limits.iter().any(|limit| limit.mode != Mode::Enforce && !limit.allowed) {
            self.shadow_denied.increment(1);
        }
    }

    /// Counts a caller that was refused, if this code is a reason to refuse one.
    pub(crate) fn refused_caller(&self, interface: Interface, code: ErrorCode) {
        self.refused_callers.count(interface, code);
    }

    /// Counts a check that the denial cache answered.
    pub(crate) fn denied_from_cache(&self) {
        self.cached_denials.increment();
    }

    /// Counts checks about which the home region was asked, and those that it did not decide.
    pub(crate) fn home_asked(&self, checks: usize, failed: usize) {
        self.home_checks.increment(checks as u64);
        self.home_failed_checks.increment(failed as u64);
    }

    /// Counts a check that was admitted with leased units.
    pub(crate) fn leased(&self) {
        self.leased.increment();
    }

    /// The number of checks that the denial cache or leased units decided.
    pub(crate) fn decided_from_memory(&self) -> u64 {
        self.cached_denials.get() + self.leased.get()
    }

    /// Sets the use of the queues of deferred jobs of all tenants.
    pub(crate) fn deferred_use(&self, usage: QueueUse) {
        self.stock.set_deferred(Registry(&self.recorder), usage);
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

    /// Counts a check with a key that holds a value of the wrong type.
    pub(crate) fn redis_unreadable(&self) {
        self.redis_unreadable.increment(1);
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
