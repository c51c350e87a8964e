//! A cluster of its own, limiters on it, and callers that count what was admitted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};
use weir_domain::algorithm::LeaseId;
use weir_domain::charge::RuleCharge;
use weir_domain::draft::LimitDraft;
use weir_domain::id::TenantId;
use weir_domain::request::Operation;
use weir_domain::spread::SpreadKey;
use weir_local::{ClusterOptions, RedisCluster, ScratchDir};

use crate::error::RedisError;
use crate::limiter::tests::fixture::{charge_of, fresh_tenant, until_up};
use crate::limiter::{Answer, Limiter, LimiterSettings, ScriptCheck};
use crate::placement::Bucket;

/// The longest time that a busy machine needs for any step, a failover included.
pub(super) const DEADLINE: Duration = Duration::from_mins(2);

pub(super) struct Fixture {
    pub(super) cluster: Arc<RedisCluster>,
    pub(super) client: crate::Client,
    pub(super) tenant: TenantId,
    pub(super) stop: CancellationToken,
    guards: Arc<(DropGuard, ScratchDir)>,
}

/// The results of checks.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) admitted: AtomicU64,
    pub(super) denied: AtomicU64,
    /// Checks that Redis did not decide.
    pub(super) failed: AtomicU64,
    /// Those of them that were never sent.
    pub(super) unsent: AtomicU64,
}

impl Fixture {
    pub(super) fn start() -> Self {
        Self::with(&ClusterOptions { replicas: 1, ..Self::options() })
    }

    pub(super) fn without_replicas() -> Self {
        Self::with(&Self::options())
    }

    /// Three primaries without replicas.
    pub(super) fn options() -> ClusterOptions {
        ClusterOptions { primaries: 3, ..ClusterOptions::default() }
    }

    pub(super) fn with(options: &ClusterOptions) -> Self {
        let scratch = ScratchDir::create().expect("a scratch folder");
        let data_dir = scratch.path().join("redis");
        let cluster = RedisCluster::start_with(&data_dir, options).expect("it starts");
        let client = crate::client(&cluster.url()).expect("a valid address");
        let (stop, tenant) = (CancellationToken::new(), fresh_tenant());
        let cluster = Arc::new(cluster);
        let guards = Arc::new((stop.clone().drop_guard(), scratch));
        Self { cluster, client, tenant, stop, guards }
    }

    /// The same cluster for another tenant.
    pub(super) fn of_another_tenant(&self) -> Self {
        Self {
            cluster: Arc::clone(&self.cluster),
            client: self.client.clone(),
            tenant: fresh_tenant(),
            stop: self.stop.clone(),
            guards: Arc::clone(&self.guards),
        }
    }

    /// A limiter whose budget is long enough on a busy machine.
    pub(super) async fn limiter(&self) -> Limiter {
        let limiter = self.limiter_with(Duration::from_secs(20));
        until_up(&limiter).await;
        limiter
    }

    pub(super) fn limiter_with(&self, budget: Duration) -> Limiter {
        let settings = LimiterSettings { budget, ..LimiterSettings::default() };
        Limiter::start(self.client.clone(), settings, self.stop.clone())
    }

    pub(super) fn asked<'a>(&self, namespace: &'a str, rules: &'a [RuleCharge]) -> ScriptCheck<'a> {
        let (tenant, operation) = (self.tenant, Operation::Consume);
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

    /// A namespace of each bucket, in the order of their slots.
    pub(super) fn namespaces(&self) -> Vec<String> {
        let names = (0..).map(|number| format!("namespace-{number}"));
        let mut found: Vec<Option<String>> = vec![None; Bucket::all().count()];
        let mut missing = found.len();
        for name in names {
            let slot = &mut found[Bucket::of(self.tenant, &name, SpreadKey::NONE).index()];
            if slot.is_none() {
                (*slot, missing) = (Some(name), missing - 1);
            }
            if missing == 0 {
                break;
            }
        }
        found.into_iter().flatten().collect()
    }

    /// The index of the node that serves this namespace.
    pub(super) fn node_of(&self, namespace: &str) -> usize {
        self.cluster.owner(usize::from(self.slot_of(namespace))).expect("it is covered")
    }

    /// The slot of the keys of this namespace.
    pub(super) fn slot_of(&self, namespace: &str) -> u16 {
        Bucket::of(self.tenant, namespace, SpreadKey::NONE).slot()
    }

    /// The number of keys of a node.
    pub(super) fn keys(&self, node: usize) -> u64 {
        let reply = self.cluster.nodes()[node].command("DBSIZE").expect("it answers");
        reply.trim_start_matches(':').trim().parse().expect("a number")
    }

    /// The number of calls of the limiter's function that a node has served.
    pub(super) fn calls(&self, node: usize) -> u64 {
        let statistics = self.cluster.nodes()[node].command("INFO commandstats");
        let statistics = statistics.unwrap_or_default();
        let count = statistics.lines().find_map(|line| line.strip_prefix("cmdstat_fcall:calls="));
        let digits = count.and_then(|line| line.split(',').next());
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
    }
}

/// A rule with one fixed window that does not end during a test.
pub(super) fn window(id: u128, limit: u64) -> Vec<RuleCharge> {
    let limits = vec![LimitDraft::FixedWindow { limit, window_ms: 31_622_400_000 }];
    vec![charge_of(id, limits)]
}

impl Tally {
    pub(super) fn count(&self, results: Vec<Result<Answer, RedisError>>) {
        for result in results {
            if matches!(result, Err(RedisError::Away)) {
                self.unsent.fetch_add(1, Ordering::Relaxed);
            }
            let counter = match result {
                Ok(Answer::Decided(_, decisions)) if decisions[0].allowed => &self.admitted,
                Ok(Answer::Decided(..)) => &self.denied,
                Ok(other) => panic!("{other:?}"),
                Err(_) => &self.failed,
            };
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn numbers(&self) -> (u64, u64, u64) {
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (number(&self.admitted), number(&self.denied), number(&self.failed))
    }
}

/// Sends `checks` checks of each namespace, by `callers` callers in turn over the limiters, and counts the results.
pub(super) async fn send_all(
    fixture: &Arc<Fixture>,
    limiters: &[Limiter],
    namespaces: &[String],
    (limit, checks): (u64, u64),
) -> Vec<Tally> {
    const CALLERS: u64 = 16;
    let tallies: Arc<Vec<Tally>> = Arc::new(namespaces.iter().map(|_| Tally::default()).collect());
    let namespaces: Arc<[String]> = namespaces.into();
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let limiter = limiters[usize::try_from(caller).expect("few") % limiters.len()].clone();
        let (fixture, tallies) = (Arc::clone(fixture), Arc::clone(&tallies));
        let namespaces = Arc::clone(&namespaces);
        callers.spawn(async move {
            let rules = window(1, limit);
            for _ in (0..checks).skip(usize::try_from(caller).expect("few")).step_by(16) {
                for (namespace, tally) in namespaces.iter().zip(&*tallies) {
                    tally.count(limiter.check(&[fixture.asked(namespace, &rules)]).await);
                }
            }
        });
    }
    callers.join_all().await;
    Arc::into_inner(tallies).expect("all callers have ended")
}

/// Waits until `holds` returns true.
pub(super) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds().await {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        tokio::task::yield_now().await;
    }
}
