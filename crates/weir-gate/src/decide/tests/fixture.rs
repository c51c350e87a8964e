//! A gate with one rule, with or without Redis, and checks at any stage.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};
use weir_domain::decide::Decision;
use weir_domain::id::{KeyId, RuleId, TenantId};
use weir_domain::regions::{Region, Regions};
use weir_domain::request::{Operation, Request, RequestDraft};
use weir_domain::rulebook::{InstallationState, Rulebook};
use weir_domain::time::{Clock, Micros, Timestamp};
use weir_redis::limiter::{Limiter, LimiterSettings};
use weir_wire::stored::{StoredRule, StoredTenant};

use super::super::pending::PendingCheck;
use super::super::rules;
use super::denial;
use crate::memory::leases::{LeaseOutcome, LeaseRequest};
use crate::requests::caller::Caller;
use crate::state::{GateState, Random};

pub(super) struct Fixture {
    pub(super) state: GateState,
    pub(super) caller: Caller,
    _stop: DropGuard,
}

const NOW_MS: i64 = 1_763_726_400_000;

/// A rule of 5 units in a year, with this `on_store_failure`.
pub(super) fn window(on_store_failure: &str) -> Value {
    json!({
        "name": "rule", "count_by": ["user"], "on_store_failure": on_store_failure,
        "limits": [{ "algorithm": "fixed_window", "limit": 5, "window_ms": 31_622_400_000_u64 }],
    })
}

/// A leased rule of 1,000 units in a year.
pub(super) fn leased_window() -> Value {
    json!({
        "name": "rule", "count_by": ["user"], "consistency": "leased",
        "limits": [{ "algorithm": "fixed_window", "limit": 1_000, "window_ms": 31_622_400_000_u64 }],
    })
}

impl Fixture {
    /// A gate that cannot reach Redis.
    pub(super) fn away(rule: &Value) -> Self {
        Self::new(tenant(std::slice::from_ref(rule), &[], None), "redis://127.0.0.1:1")
    }

    /// A gate whose Redis has answered.
    pub(super) async fn connected(rule: &Value) -> Self {
        Self::connected_to(tenant(std::slice::from_ref(rule), &[], None)).await
    }

    /// A gate whose Redis has answered, and a namespace whose counters are spread by `user`.
    pub(super) async fn spread(rules: &[Value]) -> Self {
        Self::connected_to(tenant(rules, &["user"], None)).await
    }

    /// The same for a gate that cannot reach Redis.
    pub(super) fn spread_and_away(rules: &[Value]) -> Self {
        Self::new(tenant(rules, &["user"], None), "redis://127.0.0.1:1")
    }

    /// A gate whose Redis has answered, in another region than the home, which no link reaches.
    pub(super) async fn outside_the_home(rules: &[Value]) -> Self {
        let (tenant, rules) = tenant(rules, &[], None);
        let gates = vec!["https://gate".to_owned()];
        let eu = Region { name: "eu".to_owned(), gates };
        let regions = Regions::parse(Some("eu"), vec![eu]).expect("a region");
        let installation =
            InstallationState { regions, is_home_elsewhere: true, ..InstallationState::default() };
        let rules = Rulebook::clone(&rules).with_installation(installation);
        Self::connected_to((tenant, Arc::new(rules))).await
    }

    async fn connected_to(tenant: (TenantId, Arc<Rulebook>)) -> Self {
        let fixture = Self::new(tenant, &weir_local::shared::redis().url());
        let until = Instant::now() + Duration::from_secs(20);
        while !fixture.state.limiter.up() {
            assert!(Instant::now() < until, "redis never answered");
            tokio::task::yield_now().await;
        }
        fixture
    }

    fn new((tenant, rules): (TenantId, Arc<Rulebook>), redis: &str) -> Self {
        let stop = CancellationToken::new();
        let settings = LimiterSettings { budget: Duration::from_secs(20), ..Default::default() };
        let client = weir_redis::client(redis).expect("an address");
        let limiter = Limiter::start(client, settings, stop.clone());
        let clock = Clock::new(|| Timestamp::from_millis(NOW_MS));
        let state = GateState::without_statistics(limiter, clock, Random::new(|_| {}));
        state.denial_cache.set_connected(weir_redis::placement::Buckets::ALL);
        state.leases.set_connected(weir_redis::placement::Buckets::ALL, Instant::now());
        Self { state, caller: caller(tenant, rules), _stop: stop.drop_guard() }
    }

    pub(super) fn with_ceiling(self, checks_per_second: u64) -> Self {
        let (tenant, rules) = tenant(&[window("allow")], &[], Some(checks_per_second));
        Self { caller: caller(tenant, rules), ..self }
    }

    pub(super) fn request(&self, operation: Operation, user: Option<&str>, cost: u64) -> Request {
        let user = user.map(|user| ("user".to_owned(), user.to_owned()));
        let attributes: BTreeMap<_, _> = user.into_iter().collect();
        let namespace = "default".to_owned();
        let draft = RequestDraft { namespace, attributes, cost, operation, idempotency_key: None };
        Request::parse(draft).expect("valid")
    }

    /// A check of a user under an idempotency key.
    pub(super) fn keyed(&self, user: &str, key: &str) -> Request {
        let draft = RequestDraft {
            namespace: "default".to_owned(),
            attributes: [("user".to_owned(), user.to_owned())].into(),
            cost: 1,
            operation: Operation::Consume,
            idempotency_key: Some(key.to_owned()),
        };
        Request::parse(draft).expect("valid")
    }

    pub(super) fn requests(&self, operation: Operation, users: &[&str]) -> Vec<Request> {
        users.iter().map(|user| self.request(operation, Some(user), 1)).collect()
    }

    pub(super) fn checks<'a>(&'a self, requests: &'a [Request]) -> Vec<PendingCheck<'a>> {
        let now = Instant::now();
        requests.iter().map(|request| PendingCheck::new(&self.caller, request, now)).collect()
    }

    /// Checks whose rules are matched.
    pub(super) async fn matched<'a>(&'a self, requests: &'a [Request]) -> Vec<PendingCheck<'a>> {
        let mut checks = self.checks(requests);
        rules::answer(&self.state, &mut checks).await.expect("few limits");
        checks
    }

    /// The number of calls of Redis for checks.
    pub(super) fn redis_calls(&self) -> u64 {
        let metrics = self.state.metrics();
        let name = "weir_redis_script_seconds_count ";
        let count = metrics.lines().find_map(|line| line.strip_prefix(name));
        count.expect("a metric").parse().expect("a number")
    }

    /// Caches a denial of a check of `user` with cost 1.
    pub(super) async fn cache_denial(&self, user: &str) {
        let requests = self.requests(Operation::Consume, &[user]);
        let checks = self.matched(&requests).await;
        let (rules, now) = (checks[0].charged_rules(), checks[0].started);
        let generation = self.state.denial_cache.get(rules, now).expect_err("nothing is cached");
        self.state.denial_cache.insert(generation, rules, &[denial()], now);
    }

    /// Gives the lease of `user` units without Redis.
    pub(super) async fn lease(&self, user: &str, units: u64) {
        let requests = self.requests(Operation::Consume, &[user]);
        let mut checks = self.matched(&requests).await;
        self.attach_request(&mut checks[0], units + 1);
        let lease = checks[0].lease.take().expect("a request");
        let (allowed, retry_after_ms) = (true, Some(0));
        let (remaining, reset_after_ms) = (900, 30_000);
        let given = Decision {
            allowed,
            remaining,
            reset_after_ms,
            retry_after_ms,
            delay_ms: 0,
            returned: false,
        };
        lease.settle(Micros(1_000), vec![given], Instant::now()).expect("allowed");
    }

    /// Consumes a unit of `user` in Redis, and takes the others of `units` for its lease.
    pub(super) async fn take_units(&self, user: &str, units: u64) {
        let requests = self.requests(Operation::Consume, &[user]);
        let mut checks = self.matched(&requests).await;
        self.attach_request(&mut checks[0], units);
        super::redis::answer(&self.state, &mut checks).await;
        assert_eq!(super::allowed(&checks), [Some(true)]);
    }

    /// Attaches a request for `units` to a check of a leased rule.
    pub(super) fn attach_request<'a>(&'a self, check: &mut PendingCheck<'a>, units: u64) {
        check.lease = Some(self.lease_request(check, units));
    }

    fn lease_request(&self, check: &PendingCheck<'_>, units: u64) -> LeaseRequest {
        let (tenant, now) = (self.caller.tenant, check.started);
        match self.state.leases.spend(tenant, check.charges(), 1, now) {
            LeaseOutcome::Take(mut request) => {
                request.ask_for(units);
                request
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A tenant with these rules, and the attributes by which their counters are spread.
fn tenant(
    rules: &[Value],
    spread_by: &[&str],
    checks_per_second: Option<u64>,
) -> (TenantId, Arc<Rulebook>) {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = u128::from(NEXT.fetch_add(1, Ordering::Relaxed)) | (0xDEC1 << 96);
    let tenant = TenantId::from_u128(number | (u128::from(std::process::id()) << 32));
    let rule = |(body, at): (&Value, u128)| StoredRule {
        id: RuleId::from_u128(number | at << 64).to_string(),
        slots: (0..)
            .zip(body["limits"].as_array().expect("limits"))
            .map(|(slot, _)| slot)
            .collect(),
        revision: Some(1),
        newer_unreadable: None,
        body: body.to_string().into(),
    };
    let rules = rules.iter().zip(0..).map(rule).map(Arc::new).collect();
    let spread_by: Vec<_> = spread_by.iter().map(|name| (*name).to_owned()).collect();
    let spread = [("default".to_owned(), spread_by)].into_iter();
    let stored = StoredTenant {
        id: tenant.to_string(),
        suspended: false,
        record_checks: false,
        enforced: true,
        checks_per_second,
        version: 1,
        keys: Vec::new(),
        rules,
        overrides: Vec::new(),
        profiles: Vec::new(),
        spread: spread.filter(|(_, names)| !names.is_empty()).collect(),
        customer_attribute: None,
        customer_view: None,
        plans: Vec::new(),
        assignments: Vec::new(),
    };
    let (rules, left_out) = stored.compile();
    assert_eq!(left_out, []);
    (tenant, Arc::new(Rulebook::default().with_changes(1, [(tenant, Some(rules))])))
}

fn caller(tenant: TenantId, book: Arc<Rulebook>) -> Caller {
    Caller {
        tenant,
        key: KeyId::from_u128(1),
        book,
        at: Timestamp::from_millis(NOW_MS),
        request_id: None,
        wait_max: None,
        span: None,
    }
}
