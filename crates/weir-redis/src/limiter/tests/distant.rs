//! Redis behind a slow network: calls share the connection, so that checks wait for one round trip and not for two.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, interval};
use tokio_util::sync::{CancellationToken, DropGuard};
use weir_domain::algorithm::LeaseId;
use weir_domain::charge::RuleCharge;
use weir_domain::draft::LimitDraft;
use weir_domain::id::TenantId;
use weir_domain::request::Operation;
use weir_local::{Relay, shared};

use super::fixture::{charge_of, fresh_tenant, until_up};
use crate::error::RedisError;
use crate::limiter::{Answer, Limiter, LimiterSettings, ScriptCheck};

/// Much longer than usual, so that a busy machine adds little to it.
const ROUND_TRIP: Duration = Duration::from_millis(140);
const BUDGET: Duration = Duration::from_millis(240);
const AMPLE_BUDGET: Duration = Duration::from_secs(10);

struct Distant {
    limiter: Limiter,
    relay: Relay,
    tenant: TenantId,
    rules: Vec<RuleCharge>,
    _stop: DropGuard,
}

impl Distant {
    async fn start(budget: Duration) -> Arc<Self> {
        let redis = shared::redis();
        let relay = Relay::start(redis.port()).expect("it starts");
        relay.set_round_trip(ROUND_TRIP);
        let url = format!("redis://:{}@127.0.0.1:{}", redis.password(), relay.port());
        let client = crate::client(&url).expect("a local address");
        let settings = LimiterSettings { budget, ..LimiterSettings::default() };
        let stop = CancellationToken::new();
        let limiter = Limiter::start(client, settings, stop.clone());
        // Connecting takes several round trips.
        until_up(&limiter).await;
        let limits = vec![LimitDraft::FixedWindow { limit: 1_000_000, window_ms: 31_622_400_000 }];
        let (tenant, rules) = (fresh_tenant(), vec![charge_of(1, limits)]);
        Arc::new(Self { limiter, relay, tenant, rules, _stop: stop.drop_guard() })
    }

    /// Returns the remaining units after a check.
    async fn check(&self, operation: Operation) -> Result<u64, RedisError> {
        let (tenant, rules) = (self.tenant, &self.rules);
        let namespace = "test";
        let asked = ScriptCheck {
            tenant,
            namespace,
            operation,
            cost: 1,
            rules,
            lease_id: LeaseId::default(),
            idempotency: None,
            charged: None,
        };
        let answer = self.limiter.check(&[asked]).await.remove(0)?;
        let Answer::Decided(_, decisions) = answer else { panic!("{answer:?}") };
        Ok(decisions[0].remaining)
    }

    /// Sends a check every few milliseconds; calls `at` before each with its number.
    async fn send(self: &Arc<Self>, count: u32, at: impl Fn(u32)) -> Vec<Result<u64, RedisError>> {
        let (mut ticks, mut checks) = (interval(Duration::from_millis(4)), JoinSet::new());
        for number in 0..count {
            ticks.tick().await;
            at(number);
            let own = Arc::clone(self);
            checks.spawn(async move { own.check(Operation::Consume).await });
        }
        checks.join_all().await
    }
}

/// G-05: with one call in flight, a check waits for one to two round trips, and half of them for more than one and a half.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn checks_of_a_distant_redis_wait_for_one_round_trip() {
    let distant = Distant::start(AMPLE_BUDGET).await;
    let (mut ticks, mut checks) = (interval(Duration::from_millis(4)), JoinSet::new());
    for _ in 0..1_000 {
        ticks.tick().await;
        let own = Arc::clone(&distant);
        checks.spawn(async move {
            let sent = Instant::now();
            let left = own.check(Operation::Consume).await.expect("Redis answers");
            (sent.elapsed(), left)
        });
    }
    let (mut waits, mut left): (Vec<_>, Vec<_>) = checks.join_all().await.into_iter().unzip();
    waits.sort_unstable();
    assert!(waits[500] < ROUND_TRIP * 7 / 5, "the median wait is {:?}", waits[500]);
    left.sort_unstable();
    left.dedup();
    assert_eq!(left.len(), 1_000, "every check was charged once");
}

/// The connection ends while calls are in flight.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn checks_in_flight_on_a_lost_connection_are_charged_once_at_most() {
    let distant = Distant::start(BUDGET).await;
    let cut = |number| {
        if number == 100 {
            assert!(distant.relay.cut() > 0);
        }
    };
    let results = distant.send(200, cut).await;
    let answered = results.iter().filter(|result| result.is_ok()).count();
    assert!(answered < 200, "some were in flight");
    let unsent = |result: &&Result<u64, _>| matches!(result, Err(RedisError::Away));
    let unsent = results.iter().filter(unsent).count();
    until_up(&distant.limiter).await;
    let deadline = Instant::now() + Duration::from_secs(20);
    let left = loop {
        if let Ok(left) = distant.check(Operation::Peek).await {
            break left;
        }
        assert!(Instant::now() < deadline, "Redis does not answer");
    };
    let charged = usize::try_from(1_000_000 - left).expect("few");
    assert!(
        (answered..=200 - unsent).contains(&charged),
        "{answered} ≤ {charged}, {unsent} unsent"
    );
}

/// All calls in flight are lost at once, which is one reason to doubt the connection and not several.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_network_opens_the_breaker_and_a_new_connection_closes_it() {
    let distant = Distant::start(BUDGET).await;
    assert!(distant.relay.silence() > 0);
    let results = distant.send(400, |_| ()).await;
    let timeouts = results.iter().filter(|result| matches!(result, Err(RedisError::Timeout)));
    assert!(timeouts.count() > 100, "the breaker needs three round trips");
    until_up(&distant.limiter).await;
}
