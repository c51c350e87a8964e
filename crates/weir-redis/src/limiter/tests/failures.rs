//! Redis stopped, stalled, emptied, full or read-only: no check waits too long, and the limiter recovers by itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::{CancellationToken, DropGuard};
use weir_domain::algorithm::LeaseId;
use weir_domain::charge::RuleCharge;
use weir_domain::draft::LimitDraft;
use weir_domain::id::TenantId;
use weir_domain::request::Operation;
use weir_local::{Redis, RedisOptions, ScratchDir};

use super::fixture::{charge_of, fresh_tenant, until_up};
use crate::error::RedisError;
use crate::limiter::{Answer, Limiter, LimiterSettings, ScriptCheck};

/// A budget that is long enough for a busy machine to answer.
const PATIENT: Duration = Duration::from_secs(10);
/// The budget of tests in which Redis stalls.
const BUDGET: Duration = Duration::from_millis(400);
/// The most that a busy machine adds to a wait.
const SLACK: Duration = Duration::from_secs(10);
/// The most that it adds to the shortest of several waits. Any time-out of a socket is longer than this and the budget.
const LEAST_SLACK: Duration = Duration::from_millis(500);
/// The bound of most answers while Redis is away, which need no call.
const AT_ONCE: Duration = Duration::from_millis(200);

/// A limiter with a Redis of its own.
pub(super) struct Own {
    pub(super) redis: Redis,
    pub(super) limiter: Limiter,
    tenant: TenantId,
    rules: Vec<RuleCharge>,
    _stop: DropGuard,
    _scratch: ScratchDir,
}

impl Own {
    pub(super) async fn start() -> Self {
        Self::with_budget(PATIENT).await
    }

    async fn with_budget(budget: Duration) -> Self {
        let scratch = ScratchDir::create().expect("a scratch folder");
        let data_dir = scratch.path().join("redis");
        let redis =
            Redis::start(RedisOptions { data_dir, settings: Vec::new() }).expect("redis starts");
        let client = crate::client(&redis.url()).expect("a local address");
        let settings = LimiterSettings { budget, ..LimiterSettings::default() };
        let stop = CancellationToken::new();
        let limiter = Limiter::start(client, settings, stop.clone());
        until_up(&limiter).await;
        let limits = vec![LimitDraft::FixedWindow { limit: 1_000_000, window_ms: 31_622_400_000 }];
        let (tenant, rules) = (fresh_tenant(), vec![charge_of(1, limits)]);
        Self { redis, limiter, tenant, rules, _stop: stop.drop_guard(), _scratch: scratch }
    }

    fn asked(&self) -> ScriptCheck<'_> {
        let (tenant, rules) = (self.tenant, &self.rules);
        let (namespace, operation) = ("test", Operation::Consume);
        ScriptCheck {
            tenant,
            namespace,
            operation,
            cost: 1,
            rules,
            lease_id: LeaseId::default(),
            idempotency: None,
            charged: None,
        }
    }

    /// Returns the remaining units after a check, or the error, and the duration of the check.
    async fn check(&self) -> (Result<u64, RedisError>, Duration) {
        let start = Instant::now();
        let result = self.limiter.check(&[self.asked()]).await.remove(0);
        let remaining = result.map(|answer| match answer {
            Answer::Decided(_, decisions) => decisions[0].remaining,
            other => panic!("{other:?}"),
        });
        (remaining, start.elapsed())
    }

    pub(super) async fn ask_fine(&self) -> u64 {
        self.check().await.0.expect("redis answers")
    }

    /// Sends checks until Redis counts as down by its refusals alone. The breaker stays closed.
    pub(super) async fn until_refused_and_down(&self, label: &str) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.limiter.up() {
            let (answer, waited) = self.check().await;
            let Err(error @ RedisError::Refused(_)) = answer else { panic!("{answer:?}") };
            assert_eq!(error.label(), label);
            assert!(waited < BUDGET + SLACK, "waited {waited:?}");
            assert!(Instant::now() < deadline, "it is still up");
        }
        let (answer, _) = self.check().await;
        assert!(matches!(answer, Err(RedisError::Refused(_))), "it is asked again: {answer:?}");
    }

    /// The number of connections that Redis has accepted.
    async fn connections(&self) -> u64 {
        self.statistic("stats", "total_connections_received:").await
    }

    /// The number of calls of the script that Redis has run.
    async fn calls(&self) -> u64 {
        self.statistic("commandstats", "cmdstat_fcall:calls=").await
    }

    async fn statistic(&self, section: &str, name: &str) -> u64 {
        let client = crate::client(&self.redis.url()).expect("a local address");
        let mut connection = client.connect(SLACK).await.expect("it accepts").0;
        let mut info = redis::cmd("INFO");
        let text: String = info.arg(section).query_async(&mut connection).await.expect("it runs");
        let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("redis counts it");
        let digits: String = line.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().expect("a number")
    }

    /// Sends one check for each of `callers` at once.
    async fn ask_at_once(
        self: &Arc<Self>,
        callers: u32,
    ) -> Vec<(Result<u64, RedisError>, Duration)> {
        let mut asking = tokio::task::JoinSet::new();
        for _ in 0..callers {
            let own = Arc::clone(self);
            asking.spawn(async move { own.check().await });
        }
        asking.join_all().await
    }

    /// Sends checks until one is answered, as callers would. Returns the remaining units.
    async fn until_answered(&self, at_most: Duration) -> u64 {
        let deadline = Instant::now() + at_most;
        loop {
            let (answer, waited) = self.check().await;
            assert!(waited < BUDGET + SLACK, "waited {waited:?}");
            match answer {
                Ok(remaining) => return remaining,
                Err(error) => assert!(Instant::now() < deadline, "still {error}"),
            }
            tokio::task::yield_now().await;
        }
    }

    /// Sends checks until the breaker is open, and then asserts that an answer arrives at once.
    async fn until_away(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let (answer, waited) = self.check().await;
            assert!(waited < BUDGET + SLACK, "waited {waited:?}");
            match answer {
                Err(RedisError::Away) => break,
                other => assert!(Instant::now() < deadline, "not away but {other:?}"),
            }
        }
        assert!(!self.limiter.up());
        let mut waits = Vec::new();
        for _ in 0..100 {
            let (answer, waited) = self.check().await;
            assert!(matches!(answer, Err(RedisError::Away)), "{answer:?}");
            waits.push(waited);
        }
        waits.sort_unstable();
        assert!(waits[90] < AT_ONCE, "{waits:?}");
    }
}

#[tokio::test]
async fn stopped_redis_delays_no_check_and_is_used_again_after_its_return() {
    let own = Own::with_budget(BUDGET).await;
    assert_eq!(own.ask_fine().await, 999_999);
    own.redis.kill().expect("it ran");
    let (answer, waited) = own.check().await;
    assert!(matches!(answer, Err(RedisError::Broken(_) | RedisError::Away)), "{answer:?}");
    assert!(waited < BUDGET + SLACK, "waited {waited:?}");
    own.until_away().await;
    own.redis.restart().expect("it starts");
    assert_eq!(own.until_answered(Duration::from_secs(20)).await, 999_999, "empty, and at work");
    assert_eq!(own.ask_fine().await, 999_998);
}

#[tokio::test]
async fn redis_restarted_while_idle_fails_no_check() {
    let own = Own::start().await;
    own.ask_fine().await;
    own.redis.restart().expect("it starts");
    let deadline = Instant::now() + Duration::from_secs(10);
    while own.limiter.up() {
        assert!(Instant::now() < deadline, "still up");
        tokio::task::yield_now().await;
    }
    until_up(&own.limiter).await;
    assert_eq!(own.ask_fine().await, 999_999);
}

#[tokio::test]
async fn stalled_redis_times_out_within_the_budget_until_the_breaker_opens() {
    let own = Own::with_budget(BUDGET).await;
    own.ask_fine().await;
    own.redis.pause().expect("it ran");
    let mut waits = Vec::new();
    for _ in 0..3 {
        let (answer, waited) = own.check().await;
        assert!(matches!(answer, Err(RedisError::Timeout)), "{answer:?}");
        assert!(waited + Duration::from_millis(5) > BUDGET, "gave up after {waited:?}");
        waits.push(waited);
    }
    assert!(waits.iter().all(|waited| *waited < BUDGET + SLACK), "{waits:?}");
    assert!(waits.iter().any(|waited| *waited < BUDGET + LEAST_SLACK), "{waits:?}");
    own.until_away().await;
    own.redis.resume().expect("it was paused");
    let remaining = own.until_answered(Duration::from_secs(20)).await;
    // Checks that timed out were possibly counted when Redis woke up. Nothing else was counted.
    assert!((999_994..=999_998).contains(&remaining), "{remaining}");
}

#[tokio::test]
async fn callers_that_wait_behind_a_stalled_call_wait_no_longer_than_their_budget() {
    let own = Arc::new(Own::with_budget(BUDGET).await);
    let mut longest = Vec::new();
    for _ in 0..3 {
        until_up(&own.limiter).await;
        own.redis.pause().expect("it ran");
        let answered = own.ask_at_once(500).await;
        own.redis.resume().expect("it was paused");
        for (answer, _) in &answered {
            assert!(matches!(answer, Err(RedisError::Timeout | RedisError::Away)), "{answer:?}");
        }
        longest.push(answered.iter().map(|(_, waited)| *waited).max().expect("many"));
    }
    // A busy machine can be late by itself, but not each time.
    assert!(longest.iter().all(|waited| *waited < BUDGET + SLACK), "{longest:?}");
    assert!(longest.iter().any(|waited| *waited < BUDGET + LEAST_SLACK), "{longest:?}");
}

/// There are more callers than three calls hold, so some are still queued when the breaker opens. They need not wait until
/// Redis answers a probe.
#[tokio::test]
async fn callers_behind_the_calls_that_opened_the_breaker_fail_at_once() {
    let own = Arc::new(Own::with_budget(Duration::from_millis(10)).await);
    let mut longest = Duration::MAX;
    // A busy machine can be late by itself, but not each time.
    for _ in 0..10 {
        until_up(&own.limiter).await;
        own.redis.pause().expect("it ran");
        let answered = own.ask_at_once(1_000).await;
        own.redis.resume().expect("it was paused");
        assert!(answered.iter().all(|(answer, _)| answer.is_err()), "Redis was paused");
        longest =
            longest.min(answered.iter().map(|(_, waited)| *waited).max().expect("a thousand"));
    }
    assert!(longest < Duration::from_millis(400), "waited {longest:?}");
}

#[tokio::test]
async fn lost_functions_fail_no_check() {
    let own = Own::start().await;
    for left in (999_990..1_000_000).rev() {
        assert_eq!(own.ask_fine().await, left);
        assert_eq!(own.redis.command("FUNCTION FLUSH SYNC").expect("it runs"), "+OK\r\n");
    }
}

#[tokio::test]
async fn limiters_share_a_function_and_load_it_once() {
    let own = Own::start().await;
    let client = crate::client(&own.redis.url()).expect("a local address");
    let stop = CancellationToken::new();
    let other = Limiter::start(client, LimiterSettings::default(), stop.clone());
    until_up(&other).await;
    assert_eq!((own.limiter.health().script_loads, other.health().script_loads), (1, 0));
    stop.cancel();
}

/// Checks are sent although Redis refuses everything, since the next one is possibly decided.
#[tokio::test]
async fn full_redis_is_down_after_a_second_of_refusals_and_up_with_the_first_good_answer() {
    let own = Own::start().await;
    own.ask_fine().await;
    own.redis.command("CONFIG SET maxmemory 1").expect("it runs");
    own.until_refused_and_down("oom").await;
    own.redis.command("CONFIG SET maxmemory 0").expect("it runs");
    assert_eq!(own.ask_fine().await, 999_998, "nothing was taken by what was refused");
    assert!(own.limiter.up());
}

#[tokio::test]
async fn redis_that_permits_no_functions_is_down_and_up_again_without_a_check() {
    let own = Own::start().await;
    own.ask_fine().await;
    own.redis.command("ACL SETUSER default -fcall").expect("it runs");
    own.until_refused_and_down("noperm").await;
    own.redis.command("ACL SETUSER default +fcall").expect("it runs");
    until_up(&own.limiter).await;
    assert_eq!(own.ask_fine().await, 999_998);
}

#[tokio::test]
async fn lost_functions_are_counted() {
    let own = Own::start().await;
    let before = own.limiter.health().script_loads;
    assert_eq!(before, 1, "a fresh Redis has no function");
    own.redis.command("FUNCTION FLUSH SYNC").expect("it runs");
    own.ask_fine().await;
    assert_eq!(own.limiter.health().script_loads, before + 1);
}

#[tokio::test]
async fn read_only_redis_is_connected_to_at_most_ten_times_a_second() {
    let own = Own::start().await;
    own.ask_fine().await;
    own.redis.command("REPLICAOF 127.0.0.1 1").expect("it runs");
    let (before, began) = (own.connections().await, Instant::now());
    while began.elapsed() < Duration::from_millis(1_500) {
        assert!(own.check().await.0.is_err());
        tokio::task::yield_now().await;
    }
    let made = own.connections().await - before;
    let most = began.elapsed().as_millis() / 100 + 3;
    assert!(u128::from(made) <= most, "{made} connections, at most {most}");
}

/// A call of the script blocks Redis for all clients.
#[tokio::test]
async fn batch_of_checks_with_many_limits_is_sent_in_many_calls() {
    let own = Own::with_budget(Duration::from_secs(30)).await;
    let limits = |count| {
        (1..=count).map(|n| LimitDraft::FixedWindow { limit: 1_000, window_ms: 31_622_400_000 - n })
    };
    let rules: Vec<_> = (0..8).map(|id| charge_of(id, limits(8).collect())).collect();
    let asked = ScriptCheck { rules: &rules, ..own.asked() };
    let before = own.calls().await;
    let results = own.limiter.check(&vec![asked; 100]).await;
    for (at, result) in results.iter().enumerate() {
        let Ok(Answer::Decided(_, decisions)) = result else { panic!("{at}: {result:?}") };
        assert!(decisions.iter().all(|decision| decision.remaining == 999 - at as u64), "in order");
    }
    // There are 6,400 limits, and a call holds at most 1,000 us of estimated script time.
    let calls = own.calls().await - before;
    assert!(calls >= 13, "{calls} calls");
}

#[tokio::test]
async fn tenant_that_floods_the_limiter_fails_no_check_of_another() {
    let own = Arc::new(Own::with_budget(Duration::from_secs(10)).await);
    let limits = |count| {
        (1..=count).map(|n| LimitDraft::FixedWindow { limit: 1_000, window_ms: 60_000 * n })
    };
    let rules: Vec<_> = (0..8).map(|id| charge_of(id, limits(8).collect())).collect();
    let (rules, attacker) = (Arc::new(rules), fresh_tenant());
    let mut flood = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (own, rules) = (Arc::clone(&own), Arc::clone(&rules));
        flood.spawn(async move {
            loop {
                let asked = ScriptCheck { tenant: attacker, rules: &rules, ..own.asked() };
                own.limiter.check(&vec![asked; 100]).await;
            }
        });
    }
    for left in (999_900..1_000_000).rev() {
        assert_eq!(own.ask_fine().await, left);
    }
    flood.shutdown().await;
}

#[tokio::test]
async fn read_only_replica_refuses_until_it_is_promoted() {
    let own = Own::start().await;
    own.ask_fine().await;
    own.redis.command("REPLICAOF 127.0.0.1 1").expect("it runs");
    for _ in 0..3 {
        let (answer, waited) = own.check().await;
        assert!(answer.is_err(), "{answer:?}");
        assert!(waited < BUDGET + SLACK, "waited {waited:?}");
    }
    own.redis.command("REPLICAOF NO ONE").expect("it runs");
    own.until_answered(Duration::from_secs(20)).await;
}

#[tokio::test]
async fn stopped_limiter_answers_away() {
    let own = Own::start().await;
    let stop = CancellationToken::new();
    let client = crate::client(&own.redis.url()).expect("a local address");
    let limiter = Limiter::start(client, LimiterSettings::default(), stop.clone());
    until_up(&limiter).await;
    stop.cancel();
    let deadline = Instant::now() + Duration::from_secs(10);
    while limiter.up() {
        assert!(Instant::now() < deadline, "it goes on");
        tokio::task::yield_now().await;
    }
    let answer = limiter.check(&[own.asked()]).await.remove(0);
    assert!(matches!(answer, Err(RedisError::Away)), "{answer:?}");
}
