//! A fresh tenant on real Redis with a supplied clock, and the same counters in Rust beside it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use tokio_util::sync::CancellationToken;
use weir_domain::algorithm::LeaseId;
use weir_domain::algorithm::{Input, Kind};
use weir_domain::calendar;
use weir_domain::charge::{Check, RuleCharge};
use weir_domain::charged::Charged;
use weir_domain::decide::{Counters, Decision, decide_and_settle};
use weir_domain::draft::{LimitDraft, Mode, OnStoreFailure, RuleDraft};
use weir_domain::id::{RuleId, TenantId};
use weir_domain::overrides::Overrides;
use weir_domain::renewal;
use weir_domain::request::Operation;
use weir_domain::reservation::Settlement;
use weir_domain::rule::Rule;
use weir_domain::rulebook::ActiveRule;
use weir_domain::spread::SpreadKey;
use weir_domain::subject::SubjectKey;
use weir_domain::time::Micros;

use crate::limiter::{Answer, DecidingClock, Idempotency, Limiter, LimiterSettings, ScriptCheck};

/// 2025-11-21, 12:00:00 UTC.
pub(super) const START_US: u64 = 1_763_726_400_000_000;
/// The time for which keys outlive their use where the clock is supplied.
pub(super) const GRACE_MS: u64 = 600_000;

/// Keys with their serialised values and the times that they have left, in milliseconds.
pub(super) type Dump = BTreeMap<String, (Vec<u8>, i64)>;

/// A tenant that no other test has.
pub(crate) fn fresh_tenant() -> TenantId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let process = u128::from(std::process::id()) << 64;
    TenantId::from_u128(process | u128::from(NEXT.fetch_add(1, Ordering::Relaxed)))
}

pub(super) fn client() -> crate::Client {
    crate::client(&weir_local::shared::redis().url()).expect("a local address")
}

pub(super) struct Fixture {
    pub(super) tenant: TenantId,
    pub(super) limiter: Limiter,
    pub(super) twin: Counters,
    now_us: Arc<AtomicU64>,
    leases: AtomicU64,
    _stop: tokio_util::sync::DropGuard,
}

impl Fixture {
    pub(super) async fn new() -> Self {
        // The supplied clock can run far slower than Redis' own, by which keys expire.
        Self::with_grace(Duration::from_millis(GRACE_MS)).await
    }

    /// A fixture in which keys expire almost as soon as they can, by Redis' own clock, although the supplied clock stands.
    pub(super) async fn with_short_grace() -> Self {
        Self::with_grace(Duration::from_millis(1)).await
    }

    async fn with_grace(grace: Duration) -> Self {
        let (now_us, clock) = supplied_clock();
        Self::start_on(client(), now_us, Some(clock), grace).await
    }

    /// A fixture as in service: Redis' own clock decides, and keys live a second longer than they matter.
    pub(super) async fn by_redis_clock() -> Self {
        Self::start_on(client(), Arc::default(), None, LimiterSettings::default().grace).await
    }

    /// As `new`, but on another Redis. The methods that list keys read the shared one.
    pub(super) async fn on(client: crate::Client) -> Self {
        let (now_us, clock) = supplied_clock();
        Self::start_on(client, now_us, Some(clock), Duration::from_millis(GRACE_MS)).await
    }

    async fn start_on(
        client: crate::Client,
        now_us: Arc<AtomicU64>,
        clock: Option<DecidingClock>,
        grace: Duration,
    ) -> Self {
        let settings =
            LimiterSettings { budget: Duration::from_secs(30), grace, clock, traces: None };
        let stop = CancellationToken::new();
        let limiter = Limiter::start(client, settings, stop.clone());
        until_up(&limiter).await;
        let tenant = fresh_tenant();
        let leases = AtomicU64::new(1);
        Self {
            tenant,
            limiter,
            twin: Counters::default(),
            now_us,
            leases,
            _stop: stop.drop_guard(),
        }
    }

    pub(super) fn now(&self) -> Micros {
        Micros(self.now_us.load(Ordering::Relaxed))
    }

    pub(super) fn set_now(&self, now: Micros) {
        self.now_us.store(now.0, Ordering::Relaxed);
    }

    pub(super) fn pass_ms(&self, ms: u64) {
        self.set_now(Micros(self.now().0 + ms * 1000));
    }

    /// Sends a check to Redis alone.
    pub(super) async fn check(
        &self,
        operation: Operation,
        cost: u64,
        rules: &[RuleCharge],
    ) -> Vec<Decision> {
        let mut answers = self.check_all(vec![self.asked(operation, cost, rules)]).await;
        match answers.pop() {
            Some(
                Answer::Decided(_, decisions)
                | Answer::Settled(_, None, decisions, Settlement::Leased { .. }),
            ) => decisions,
            other => panic!("not decided: {other:?}"),
        }
    }

    /// Sends a reserve or commit to Redis alone. `None` if the reservation is not open.
    pub(super) async fn settle(
        &self,
        operation: Operation,
        cost: u64,
        rules: &[RuleCharge],
    ) -> Option<(Vec<Decision>, Settlement)> {
        let mut answers = self.check_all(vec![self.asked(operation, cost, rules)]).await;
        match answers.pop() {
            Some(Answer::Settled(_, None, decisions, settlement)) => Some((decisions, settlement)),
            Some(Answer::NotOpen) => None,
            other => panic!("not settled: {other:?}"),
        }
    }

    /// Takes one unit at a time until the first denial, and returns that.
    pub(super) async fn exhaust(&self, rules: &[RuleCharge]) -> Vec<Decision> {
        for _ in 0..100 {
            let decisions = self.check(Operation::Consume, 1, rules).await;
            if !passed(&decisions) {
                return decisions;
            }
            self.pass_ms(1);
        }
        panic!("never denied")
    }

    pub(super) async fn check_all(&self, asked: Vec<ScriptCheck<'_>>) -> Vec<Answer> {
        let results = self.limiter.check(&asked).await;
        results.into_iter().collect::<Result<_, _>>().expect("redis answers")
    }

    /// An id of leases that no other check of this fixture has.
    pub(super) fn fresh_lease(&self) -> LeaseId {
        let number = self.leases.fetch_add(1, Ordering::Relaxed);
        LeaseId(u128::from(number).to_be_bytes())
    }

    pub(super) fn asked<'a>(
        &self,
        operation: Operation,
        cost: u64,
        rules: &'a [RuleCharge],
    ) -> ScriptCheck<'a> {
        let (tenant, namespace) = (self.tenant, "test");
        ScriptCheck {
            tenant,
            namespace,
            operation,
            cost,
            rules,
            lease_id: self.fresh_lease(),
            idempotency: None,
            charged: None,
        }
    }

    pub(super) fn with_key<'a>(
        &self,
        cost: u64,
        rules: &'a [RuleCharge],
        key: &str,
    ) -> ScriptCheck<'a> {
        let idempotency = Idempotency {
            key: key.to_owned(),
            fingerprint: format!("cost {cost}"),
            text: "decided by Redis".to_owned(),
            recorded_for: Idempotency::RECORDED_FOR,
        };
        let asked = self.asked(Operation::Consume, cost, rules);
        ScriptCheck { idempotency: Some(idempotency), ..asked }
    }

    /// Sends a check to the Rust twin alone.
    pub(super) fn check_twin(
        &mut self,
        operation: Operation,
        cost: u64,
        rules: &[RuleCharge],
    ) -> Vec<Decision> {
        self.settle_twin(operation, cost, rules).map_or_else(Vec::new, |(decisions, _)| decisions)
    }

    /// The same, with the effect of a reserve or commit. `None` if the reservation is not open.
    pub(super) fn settle_twin(
        &mut self,
        operation: Operation,
        cost: u64,
        rules: &[RuleCharge],
    ) -> Option<(Vec<Decision>, Option<Settlement>)> {
        let lease_id = self.fresh_lease();
        self.settle_twin_of(None, lease_id, (operation, cost), rules)
    }

    /// The same, with the charge that a refund names, and the id of its leases.
    pub(super) fn settle_twin_of(
        &mut self,
        charged: Option<Charged>,
        lease_id: LeaseId,
        (operation, cost): (Operation, u64),
        rules: &[RuleCharge],
    ) -> Option<(Vec<Decision>, Option<Settlement>)> {
        let now = self.now();
        if matches!(operation, Operation::Renew(_) | Operation::Release(_)) {
            let settlement = renewal::settle(&mut self.twin, self.tenant, operation, now)?;
            return Some((Vec::new(), Some(settlement)));
        }
        let meters =
            |rule: &RuleCharge| rule.meters(self.tenant, |quota| calendar::bounds(quota, now));
        let rules = rules.iter().map(meters).collect();
        let check = Check { operation, cost, rules, lease_id: Some(lease_id), charged };
        decide_and_settle(&mut self.twin, &check, now)
    }

    /// All keys of this tenant in Redis.
    pub(super) async fn dump(&self) -> Dump {
        dump_of(self.tenant, &mut connection().await).await
    }

    /// The fields of the tenant's only subject hash.
    pub(super) async fn fields(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut hashes = self.dump().await.into_keys().filter(|key| key.contains(":s:"));
        let (Some(key), None) = (hashes.next(), hashes.next()) else { panic!("not one hash") };
        let mut get_all = redis::cmd("HGETALL");
        let fields = get_all.arg(key).query_async(&mut connection().await).await;
        fields.expect("redis answers")
    }

    /// The number of this tenant's counters in Redis: the fields of its subject hashes, and its other keys.
    pub(super) async fn counters(&self) -> usize {
        let mut connection = connection().await;
        let mut count = 0;
        for key in self.dump().await.into_keys() {
            count += if key.contains(":s:") {
                let length = redis::cmd("HLEN").arg(key).query_async(&mut connection).await;
                length.expect("redis answers")
            } else {
                1
            };
        }
        count
    }
}

fn supplied_clock() -> (Arc<AtomicU64>, DecidingClock) {
    let now_us = Arc::new(AtomicU64::new(START_US));
    let clock = {
        let now_us = Arc::clone(&now_us);
        DecidingClock::new(move || Micros(now_us.load(Ordering::Relaxed)))
    };
    (now_us, clock)
}

/// All keys of a tenant in the Redis of a connection.
pub(super) async fn dump_of(tenant: TenantId, connection: &mut MultiplexedConnection) -> Dump {
    let pattern = format!("weir:*:{tenant}:*");
    let keys: Vec<String> = {
        let mut keys = Vec::new();
        let mut cursor = 0_u64;
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(10_000);
            let (next, found): (u64, Vec<String>) =
                scan.query_async(connection).await.expect("redis scans");
            keys.extend(found);
            cursor = next;
            if cursor == 0 {
                break keys;
            }
        }
    };
    let mut all = Dump::new();
    for key in keys {
        let value = redis::cmd("DUMP").arg(&key).query_async(connection).await;
        let ttl = redis::cmd("PTTL").arg(&key).query_async(connection).await;
        all.insert(key, (value.expect("redis dumps"), ttl.expect("redis answers")));
    }
    all
}

/// The serialised values of a dump.
pub(super) fn values(dump: Dump) -> BTreeMap<String, Vec<u8>> {
    dump.into_iter().map(|(key, (value, _))| (key, value)).collect()
}

pub(super) fn passed(decisions: &[Decision]) -> bool {
    decisions.iter().all(|decision| decision.allowed)
}

pub(super) async fn connection() -> MultiplexedConnection {
    client().connect(Duration::from_secs(20)).await.expect("redis accepts").0
}

pub(crate) async fn until_up(limiter: &Limiter) {
    until("redis answers", async || {
        tokio::task::yield_now().await;
        limiter.up()
    })
    .await;
}

/// Waits until `holds` returns true.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    while !holds().await {
        assert!(tokio::time::Instant::now() < deadline, "waited in vain: {what}");
    }
}

/// The algorithms whose counters return with time alone. `concurrency.rs` tests the other one.
pub(crate) fn rate_kinds() -> impl Iterator<Item = Kind> {
    Kind::ALL.iter().copied().filter(|&kind| kind != Kind::Concurrency)
}

/// One limit of each of these algorithms, in the order of [`Kind::ALL`], of `units` in `span_ms`.
pub(super) fn one_of_each(units: u64, span_ms: u64) -> Vec<LimitDraft> {
    rate_kinds().map(|kind| of_kind(kind, units, span_ms)).collect()
}

/// Whether a check takes as many units of such a limit as it costs.
pub(super) fn counts_units(kind: Kind) -> bool {
    !matches!(kind, Kind::Spacing | Kind::Concurrency)
}

/// A limit of `units` in `span_ms`. The units of a quota are of a day in UTC.
pub(crate) fn of_kind(kind: Kind, units: u64, span_ms: u64) -> LimitDraft {
    LimitDraft::from_numbers(kind, |parameter| match parameter.input {
        Input::Units | Input::Rate => units,
        Input::Window | Input::Every => span_ms,
        Input::AnchorDay => 1,
        Input::CountDenied | Input::Period | Input::TimeZone | Input::EndsAt => 0,
    })
}

/// A log that counts denials too.
pub(super) fn log_of_denials(limit: u64, window_ms: u64) -> LimitDraft {
    LimitDraft::SlidingWindowLog { limit, window_ms, count_denied: true }
}

/// A rule with these limits.
pub(super) fn draft(limits: Vec<LimitDraft>) -> RuleDraft {
    RuleDraft {
        namespace: "test".into(),
        name: "rule".into(),
        limits,
        on_store_failure: OnStoreFailure::Deny,
        ..RuleDraft::default()
    }
}

/// A charge of a rule for one subject.
pub(super) fn charge(id: u128, rule: Rule, subject: u128) -> RuleCharge {
    let active = ActiveRule::new(RuleId::from_u128(id), rule, Overrides::default());
    let (active, subject, spread) = (Arc::new(active), SubjectKey(subject), SpreadKey::NONE);
    RuleCharge::new(active, subject, spread)
}

/// A charge of a fresh rule with these limits.
pub(crate) fn charge_of(id: u128, limits: Vec<LimitDraft>) -> RuleCharge {
    charge(id, Rule::parse(draft(limits)).expect("a valid rule"), 1)
}

/// As `charge_of`, with a block after a denial.
pub(in crate::limiter) fn charge_with_block(
    id: u128,
    block_ms: u64,
    limits: Vec<LimitDraft>,
) -> RuleCharge {
    let draft = RuleDraft { block_ms: vec![block_ms], ..draft(limits) };
    charge(id, Rule::parse(draft).expect("a valid rule"), 1)
}

/// As `charge_of`, of a rule in shadow mode.
pub(super) fn shadow_of(id: u128, limits: Vec<LimitDraft>) -> RuleCharge {
    let draft = RuleDraft { mode: Mode::Shadow, ..draft(limits) };
    charge(id, Rule::parse(draft).expect("a valid rule"), 1)
}
