//! Failovers by real Sentinels.

pub(crate) mod clocks;
mod partitions;
pub(crate) mod tls;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use weir_domain::algorithm::LeaseId;
use weir_domain::charge::RuleCharge;
use weir_domain::draft::LimitDraft;
use weir_domain::id::TenantId;
use weir_domain::request::Operation;
use weir_local::{Redis, RedisCluster, RedisOptions, RedisSentinel, ScratchDir, SentinelOptions};

use super::{ServerAddress, Target, Unsuitable};
use crate::attempts::{Attempts, Budget};
use crate::limiter::tests::fixture::{charge_of, fresh_tenant, until, until_up};
use crate::limiter::{Answer, Limiter, LimiterSettings, ScriptCheck};
use crate::placement::Buckets;
use crate::signal::{Signal, Wake, follow};

/// The longest time that a busy machine needs for any step, a failover included.
const DEADLINE: Duration = Duration::from_mins(1);
/// Checks per second during a planned failover.
const RATE: u64 = 200;

struct Fixture {
    group: Arc<RedisSentinel>,
    client: crate::Client,
    stop: CancellationToken,
    _stop: DropGuard,
    _scratch: ScratchDir,
}

impl Fixture {
    fn start() -> Self {
        Self::start_with(&SentinelOptions::default())
    }

    fn start_with(options: &SentinelOptions) -> Self {
        let scratch = ScratchDir::create().expect("a scratch folder");
        let folder = scratch.path().join("redis");
        let group = RedisSentinel::start_with(&folder, options).expect("it starts");
        let client = crate::client(&group.url()).expect("a valid address");
        let stop = CancellationToken::new();
        let stop_on_drop = stop.clone().drop_guard();
        Self { group: Arc::new(group), client, stop, _stop: stop_on_drop, _scratch: scratch }
    }

    fn limiter(&self) -> Limiter {
        self.limiter_by(self.client.clone())
    }

    fn limiter_by(&self, client: crate::Client) -> Limiter {
        let settings =
            LimiterSettings { budget: Duration::from_millis(400), ..LimiterSettings::default() };
        Limiter::start(client, settings, self.stop.clone())
    }

    /// Lets the Sentinels promote the replica.
    async fn fail_over(&self) {
        let group = Arc::clone(&self.group);
        let failing_over = tokio::task::spawn_blocking(move || group.fail_over());
        failing_over.await.expect("it runs").expect("the replica is promoted");
    }

    /// The index of the server that all Sentinels hold for the primary.
    async fn primary(&self) -> usize {
        let mut primary = None;
        until("the sentinels agree", async || {
            tokio::task::yield_now().await;
            primary = self.group.primary();
            primary.is_some()
        })
        .await;
        primary.expect("they agree")
    }

    /// Waits until the Sentinels hold the other server for the primary. Gates follow it before.
    async fn until_replaced(&self, before: usize) {
        until("the sentinels name the new primary", async || {
            tokio::task::yield_now().await;
            self.group.primary() == Some(1 - before)
        })
        .await;
    }

    /// The number of calls of the script that a server has run.
    fn calls(&self, server: usize) -> u64 {
        let statistics = self.group.servers()[server].command("INFO commandstats");
        let statistics = statistics.expect("it answers");
        let count = |line: &str| {
            let calls = ["cmdstat_evalsha:calls=", "cmdstat_fcall:calls="]
                .iter()
                .find_map(|name| line.strip_prefix(name))?;
            calls.split(',').next()?.parse::<u64>().ok()
        };
        statistics.lines().filter_map(count).sum()
    }
}

/// Sends checks one after another; counts those that were admitted.
struct Caller {
    limiter: Limiter,
    admitted: AtomicU64,
}

impl Caller {
    fn new(limiter: Limiter) -> Self {
        Self { limiter, admitted: AtomicU64::new(0) }
    }

    fn admitted(&self) -> u64 {
        self.admitted.load(Ordering::Relaxed)
    }

    /// Sends checks until `enough` of them in a row were decided.
    async fn until_decided(&self, asked: &ScriptCheck<'_>, enough: u32) {
        let deadline = Instant::now() + DEADLINE;
        let mut in_a_row = 0;
        while in_a_row < enough {
            assert!(Instant::now() < deadline, "checks are not decided");
            match self.limiter.check(std::slice::from_ref(asked)).await.remove(0) {
                Ok(Answer::Decided(_, decisions)) => {
                    in_a_row += 1;
                    self.admitted.fetch_add(u64::from(decisions[0].allowed), Ordering::Relaxed);
                }
                Ok(other) => panic!("{other:?}"),
                Err(_) => in_a_row = 0,
            }
            tokio::task::yield_now().await;
        }
    }
}

fn consume(tenant: TenantId, rules: &[RuleCharge]) -> ScriptCheck<'_> {
    ScriptCheck {
        tenant,
        namespace: "test",
        operation: Operation::Consume,
        cost: 1,
        rules,
        lease_id: LeaseId::default(),
        idempotency: None,
        charged: None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_primary_is_replaced_and_admissions_stay_bounded() {
    let fixture = Fixture::start();
    let limit = 200;
    let limits = vec![LimitDraft::FixedWindow { limit, window_ms: 31_622_400_000 }];
    let (tenant, rules) = (fresh_tenant(), vec![charge_of(1, limits)]);
    let asked = consume(tenant, &rules);
    let caller = Caller::new(fixture.limiter());
    until_up(&caller.limiter).await;
    caller.until_decided(&asked, 100).await;

    let before = fixture.primary().await;
    fixture.group.servers()[before].kill().expect("it ran");
    // More checks than the limit, so each admission beyond it is one that the failover lost.
    caller.until_decided(&asked, 400).await;
    fixture.until_replaced(before).await;
    let admitted = caller.admitted();
    // A counter that began anew admits the limit once more at most.
    assert!((limit..=2 * limit).contains(&admitted), "{admitted}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paused_primary_is_replaced_and_decides_nothing_after_its_return() {
    let fixture = Fixture::start();
    let limits = vec![LimitDraft::FixedWindow { limit: 1_000_000, window_ms: 31_622_400_000 }];
    let (tenant, rules) = (fresh_tenant(), vec![charge_of(1, limits)]);
    let asked = consume(tenant, &rules);
    let caller = Caller::new(fixture.limiter());
    until_up(&caller.limiter).await;
    caller.until_decided(&asked, 10).await;

    let before = fixture.primary().await;
    fixture.group.servers()[before].pause().expect("it ran");
    caller.until_decided(&asked, 10).await;
    fixture.until_replaced(before).await;
    fixture.group.servers()[before].resume().expect("it was paused");
    // Calls that were sent before the failover possibly run now.
    let calls = fixture.calls(before);
    caller.until_decided(&asked, 200).await;
    let later = fixture.calls(before);
    assert!(later <= calls + 3, "{} checks went to the old primary", later - calls);
}

/// Nothing breaks the connection to the old primary, so only the Sentinels tell that it is one no longer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_user_of_redis_follows_a_planned_failover() {
    let fixture = Fixture::start();
    let limiter = fixture.limiter();
    until_up(&limiter).await;
    let (woken, mut wakes) = mpsc::unbounded_channel();
    let wake = move |wake| _ = woken.send(wake);
    tokio::spawn(follow(fixture.client.clone(), fixture.stop.clone(), wake));
    let mut until_woken = async |wanted: Wake| {
        let wait = async {
            while let Some(wake) = wakes.recv().await {
                if wake == wanted {
                    return;
                }
            }
        };
        let waited = tokio::time::timeout(DEADLINE, wait).await;
        waited.unwrap_or_else(|_| panic!("never {wanted:?}"));
    };
    let signal = Signal::start(fixture.client.clone(), fixture.stop.clone());
    let attempts = Attempts::new(fixture.client.clone());
    let budget = [Budget { name: [1; 16], attempts_max: 1_000_000 }];
    let now = weir_domain::time::Timestamp::from_millis(1_000_000);
    until_woken(Wake::Subscribed(Buckets::ALL)).await;
    signal.announce(1);
    until_woken(Wake::Announced(1)).await;
    assert_eq!(attempts.admit(&budget, now, 60_000).await.expect("redis"), Ok(()));

    let before = fixture.primary().await;
    assert!(!fixture.client.moving().await);
    let noticed = until("the failover is noticed", async || {
        let Target::Sentinels(sentinels) = &*fixture.client.target else { return false };
        sentinels.primary(Duration::ZERO).await.is_ok() && sentinels.moving().await
    });
    tokio::join!(fixture.fail_over(), noticed);
    until_woken(Wake::Disconnected(Buckets::NONE)).await;
    until_woken(Wake::Subscribed(Buckets::ALL)).await;
    signal.announce(2);
    until_woken(Wake::Announced(2)).await;
    until("attempts are charged", async || attempts.admit(&budget, now, 60_000).await.is_ok())
        .await;
    let primary = &fixture.group.servers()[1 - before];
    until("the limiter has moved", async || {
        until_up(&limiter).await;
        primary
            .command("CLIENT LIST")
            .is_ok_and(|clients| clients.contains("cmd=evalsha") || clients.contains("cmd=fcall"))
    })
    .await;
}

/// The replica is the primary for up to a second before the Sentinels notice. What a gate admits by the previous primary
/// meanwhile is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn planned_failover_loses_what_is_admitted_in_a_moment() {
    let fixture = Fixture::start();
    let limit = 1_000_000;
    let limits = vec![LimitDraft::FixedWindow { limit, window_ms: 31_622_400_000 }];
    let (tenant, rules) = (fresh_tenant(), vec![charge_of(1, limits)]);
    let asked = consume(tenant, &rules);
    let caller = Caller::new(fixture.limiter());
    until_up(&caller.limiter).await;
    let before = fixture.primary().await;

    let group = Arc::clone(&fixture.group);
    let failing_over = tokio::task::spawn_blocking(move || group.fail_over());
    let mut rate = tokio::time::interval(Duration::from_millis(1_000 / RATE));
    while !failing_over.is_finished() {
        rate.tick().await;
        caller.until_decided(&asked, 1).await;
    }
    failing_over.await.expect("it runs").expect("the replica is promoted");
    let served = fixture.calls(1 - before);
    until("the new primary serves", async || {
        caller.until_decided(&asked, 1).await;
        fixture.calls(1 - before) > served
    })
    .await;
    let asked = ScriptCheck { operation: Operation::Peek, ..asked };
    let Answer::Decided(_, decisions) =
        caller.limiter.check(&[asked]).await.remove(0).expect("redis")
    else {
        panic!("it is decided");
    };
    let counted = limit - decisions[0].remaining;
    let lost = caller.admitted().saturating_sub(counted);
    println!("{lost} of {} admissions were lost", caller.admitted());
    assert!(lost <= RATE * 7 / 10, "{lost} of {} admissions were lost", caller.admitted());
}

#[tokio::test]
async fn unsuitable_addresses_are_recognised() {
    let scratch = ScratchDir::create().expect("a scratch folder");
    let server = |name: &str, settings: &[&str]| {
        let settings = settings.iter().map(|line| (*line).to_owned()).collect();
        let options = RedisOptions { data_dir: scratch.path().join(name), settings };
        Redis::start(options).expect("redis starts")
    };
    let unsuitable = async |server: &Redis| {
        let client = crate::client(&server.url()).expect("a local address");
        client.unsuitable(DEADLINE).await.expect("it answers")
    };
    assert_eq!(unsuitable(&server("primary", &[])).await, None);
    let replica = server("replica", &["replicaof 127.0.0.1 1"]);
    assert_eq!(unsuitable(&replica).await, Some(Unsuitable::Replica));
    let bus = format!("cluster-port {}", weir_local::free_port().expect("a free port"));
    let node = server("node", &["cluster-enabled yes", &bus]);
    assert_eq!(unsuitable(&node).await, Some(Unsuitable::ClusterNode));
    let away = crate::client("redis://127.0.0.1:1").expect("an address");
    assert!(away.unsuitable(DEADLINE).await.is_err());
    let primary = server("functions", &[]);
    let client = crate::client(&primary.url()).expect("a local address");
    assert_eq!(client.without_functions(DEADLINE).await.expect("it answers"), None);
    primary.command("ACL SETUSER default -fcall").expect("it runs");
    let reason = client.without_functions(DEADLINE).await.expect("it answers");
    assert!(reason.is_some_and(|reason| reason.to_string().contains("+fcall")));
    assert!(away.without_functions(DEADLINE).await.is_err());
}

#[tokio::test]
async fn unknown_name_and_the_address_of_a_sentinel_are_recognised() {
    let fixture = Fixture::start();
    assert_eq!(fixture.client.unsuitable(DEADLINE).await.expect("it answers"), None);
    let other = fixture.group.url().replace("/weir?", "/other?");
    let client = crate::client(&other).expect("an address");
    let unsuitable = client.unsuitable(DEADLINE).await.expect("it answers");
    assert_eq!(unsuitable, Some(Unsuitable::UnknownName("other".to_owned())));
    let client = crate::client(&fixture.group.sentinels()[0].url()).expect("an address");
    let unsuitable = client.unsuitable(DEADLINE).await.expect("it answers");
    assert_eq!(unsuitable, Some(Unsuitable::Sentinel));
}

#[tokio::test]
async fn unsuitable_clusters_are_recognised() {
    let scratch = ScratchDir::create().expect("a scratch folder");
    let one = RedisCluster::start(&scratch.path().join("one"), 3, 0).expect("it starts");
    until_it_is(&one.url(), None).await;
    let single = one.nodes()[0].url();
    until_it_is(&single, Some(&Unsuitable::ClusterNode)).await;

    let options = RedisOptions { data_dir: scratch.path().join("single"), settings: Vec::new() };
    let single = Redis::start(options).expect("redis starts");
    let url = single.url().replace("redis://", "redis-cluster://");
    until_it_is(&url, Some(&Unsuitable::NoCluster)).await;

    // The other nodes would go on to name the former primary.
    for node in one.nodes() {
        node.command("CLUSTER DELSLOTS 8064").expect("it runs");
    }
    until_it_is(&one.url(), Some(&Unsuitable::Uncovered(16_383))).await;
}

/// Waits until the address is found unsuitable for this reason, or suitable. A busy machine answers late.
async fn until_it_is(url: &str, expected: Option<&Unsuitable>) {
    let client = crate::client(url).expect("an address");
    until("it is recognised", async || {
        client.unsuitable(DEADLINE).await.is_ok_and(|found| found.as_ref() == expected)
    })
    .await;
}

#[tokio::test]
async fn hosts_of_different_clusters_are_recognised() {
    let scratch = ScratchDir::create().expect("a scratch folder");
    let [one, other] = ["one", "other"]
        .map(|name| RedisCluster::start(&scratch.path().join(name), 3, 0).expect("it starts"));
    let password = one.nodes()[0].password();
    for node in other.nodes() {
        let changed = node.command(&format!("CONFIG SET requirepass {password}"));
        assert_eq!(changed.expect("it runs"), "+OK\r\n");
    }
    let url = format!("{},{}", one.url(), other.nodes()[0].address());
    until_it_is(&url, Some(&Unsuitable::SeveralClusters)).await;
}

#[test]
fn calls_are_sent_while_others_are_in_flight() {
    for url in ["redis://a", "redis-sentinel://a/main", "redis-cluster://a"] {
        let client = crate::client(url).expect("an address");
        let client = match &*client.target {
            Target::Server(client) => client.clone(),
            Target::Sentinels(sentinels) => sentinels.client_of(&node()).expect("a client"),
            Target::Cluster(cluster) => cluster.client_of(&node()).expect("a client"),
        };
        assert!(client.get_connection_info().tcp_settings().nodelay(), "{url}");
    }
}

fn node() -> ServerAddress {
    ServerAddress { host: "b".to_owned(), port: 1 }
}
