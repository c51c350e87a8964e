//! The parts of a history: random numbers, time, a rule, and requests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weir_domain::charge::RuleCharge;
use weir_domain::id::{KeyId, RuleId, TenantId};
use weir_domain::matching::{Matched, matched};
use weir_domain::request::{Operation, Request, RequestDraft};
use weir_domain::rulebook::Rulebook;
use weir_domain::time::{Clock, Micros, Timestamp};
use weir_local::Redis;
use weir_redis::limiter::{DecidingClock, Limiter, LimiterSettings};
use weir_redis::placement::Buckets;
use weir_wire::check::CheckAnswer;
use weir_wire::stored::{StoredRule, StoredTenant};

use crate::decide::decide;
use crate::memory::monotonic::Monotonic;
use crate::requests::caller::Caller;
use crate::state::GateState;

pub(super) const WINDOW_MS: u64 = 60_000;
const START_US: u64 = 1_763_726_400_000_000;

/// A sequence of pseudo-random numbers (`SplitMix64`).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from `least` to `most`.
    pub(super) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.next() % (most - least + 1)
    }

    pub(super) fn one_in(&mut self, count: u64) -> bool {
        self.next().is_multiple_of(count)
    }
}

/// Supplied time, for Redis and for gates.
#[derive(Clone)]
pub(super) struct Time {
    began: Instant,
    now_us: Arc<AtomicU64>,
    /// The time that has passed by the clocks of gates, which never step.
    passed_us: Arc<AtomicU64>,
    /// The time by which the clocks of one region are ahead.
    ahead_us: Arc<AtomicI64>,
}

impl Time {
    pub(super) fn begin() -> Self {
        let now_us = Arc::new(AtomicU64::new(START_US));
        Self { began: Instant::now(), now_us, passed_us: Arc::default(), ahead_us: Arc::default() }
    }

    /// The same time by the clocks of another region.
    pub(super) fn of_region(&self) -> Self {
        Self { ahead_us: Arc::default(), ..self.clone() }
    }

    pub(super) fn set_ahead(&self, us: i64) {
        self.ahead_us.store(us, Ordering::Relaxed);
    }

    pub(super) fn micros(&self) -> Micros {
        let ahead_us = self.ahead_us.load(Ordering::Relaxed);
        Micros(self.now_us.load(Ordering::Relaxed).saturating_add_signed(ahead_us))
    }

    pub(super) fn instant(&self) -> Instant {
        self.began + Duration::from_micros(self.passed_us.load(Ordering::Relaxed))
    }

    pub(super) fn pass(&self, us: u64) {
        self.now_us.fetch_add(us, Ordering::Relaxed);
        self.passed_us.fetch_add(us, Ordering::Relaxed);
    }

    /// Sets Redis' clock, and nothing else, to this time.
    pub(super) fn step_to(&self, at: Micros) {
        self.now_us.store(at.0, Ordering::Relaxed);
    }
}

pub(super) async fn limiter(redis: &Redis, time: &Time, stop: CancellationToken) -> Limiter {
    let client = weir_redis::client(&redis.url()).expect("an address");
    let clock = {
        let time = time.clone();
        DecidingClock::new(move || time.micros())
    };
    // Keys expire by Redis' own clock, which is far slower than the supplied one.
    let grace = Duration::from_mins(10);
    let budget = Duration::from_secs(30);
    let settings = LimiterSettings { budget, grace, clock: Some(clock), traces: None };
    let limiter = Limiter::start(client, settings, stop);
    let until = Instant::now() + Duration::from_secs(30);
    while !limiter.up() {
        assert!(Instant::now() < until, "redis never answered");
        tokio::task::yield_now().await;
    }
    limiter
}

pub(super) fn index(at: Micros) -> u64 {
    at.0 / (WINDOW_MS * 1000)
}

pub(super) fn timestamp(time: &Time) -> Timestamp {
    time.micros().timestamp()
}

pub(super) fn request(operation: Operation, cost: u64) -> Request {
    let attributes = BTreeMap::from([("user".to_owned(), "u".to_owned())]);
    let namespace = "default".to_owned();
    let draft = RequestDraft { namespace, attributes, cost, operation, idempotency_key: None };
    Request::parse(draft).expect("valid")
}

/// The state of a gate that receives all announcements.
pub(super) fn gate_state(time: &Time, limiter: &Limiter) -> GateState {
    let clock = {
        let time = time.clone();
        Clock::new(move || timestamp(&time))
    };
    let monotonic = {
        let time = time.clone();
        Monotonic::new(move || time.instant())
    };
    let state = GateState::supplied(limiter.clone(), clock, monotonic);
    state.leases.set_connected(Buckets::ALL, time.instant());
    state.denial_cache.set_connected(Buckets::ALL);
    state
}

/// The answer of a gate, and whether units of a lease decided. Redis answers in time.
pub(super) async fn ask(
    at: (&GateState, &Arc<Rulebook>),
    of: (TenantId, &Time),
    operation: Operation,
    cost: u64,
) -> (CheckAnswer, bool) {
    let (answer, by_lease) = answer(at, of, operation, cost).await;
    assert_eq!(answer.degraded, None, "redis answers in time");
    (answer, by_lease)
}

/// As [`ask`], also if no Redis answers.
pub(super) async fn answer(
    (state, book): (&GateState, &Arc<Rulebook>),
    (tenant, time): (TenantId, &Time),
    operation: Operation,
    cost: u64,
) -> (CheckAnswer, bool) {
    let caller = Caller {
        tenant,
        key: KeyId::from_u128(1),
        book: Arc::clone(book),
        at: timestamp(time),
        request_id: None,
        wait_max: None,
        span: None,
    };
    let before = state.leases.held();
    let results = decide(state, &caller, &[request(operation, cost)]).await;
    let mut results = results.expect("one limit");
    let answer = results.pop().expect("one answer").expect("no key was used");
    let by_lease = state.leases.held() < before && answer.allowed;
    (answer, by_lease)
}

/// The charges of a check by a rulebook.
pub(super) fn charges(book: &Rulebook, tenant: TenantId, time: &Time) -> Vec<RuleCharge> {
    let rules = book.rules(tenant, "default");
    match matched(rules, &request(Operation::Consume, 1), timestamp(time)) {
        Matched::Charged(charges) => charges,
        other => panic!("{other:?}"),
    }
}

/// A rulebook with one leased rule.
pub(super) fn book(tenant: TenantId, seed: u64, version: u64, limit: u64) -> Arc<Rulebook> {
    let limit = json!({ "algorithm": "fixed_window", "limit": limit, "window_ms": WINDOW_MS });
    book_of(tenant, (seed, version), "leased", &limit)
}

/// A rulebook with one rule of one limit.
pub(super) fn book_of(
    tenant: TenantId,
    (seed, version): (u64, u64),
    consistency: &str,
    limit: &Value,
) -> Arc<Rulebook> {
    let body = json!({
        "name": "leased", "count_by": ["user"], "consistency": consistency, "limits": [limit],
    });
    Arc::new(book_with(tenant, (seed, version), &body))
}

/// A rulebook with this rule.
pub(super) fn book_with(tenant: TenantId, (seed, version): (u64, u64), body: &Value) -> Rulebook {
    let rule = StoredRule {
        id: RuleId::from_u128(u128::from(seed)).to_string(),
        slots: vec![0],
        revision: Some(1),
        newer_unreadable: None,
        body: body.to_string().into(),
    };
    let stored = StoredTenant {
        id: tenant.to_string(),
        suspended: false,
        record_checks: false,
        enforced: true,
        checks_per_second: None,
        version,
        keys: Vec::new(),
        rules: vec![rule.into()],
        overrides: Vec::new(),
        profiles: Vec::new(),
        spread: BTreeMap::new(),
        customer_attribute: None,
        customer_view: None,
        plans: Vec::new(),
        assignments: Vec::new(),
    };
    let (rules, left_out) = stored.compile();
    assert_eq!(left_out, []);
    Rulebook::default().with_changes(version, [(tenant, Some(rules))])
}
