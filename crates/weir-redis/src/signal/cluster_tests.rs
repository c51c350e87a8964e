//! The signal over a real cluster.

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use weir_domain::subject::SubjectKey;
use weir_local::{RedisCluster, ScratchDir};

use super::{Signal, Wake, follow};
use crate::attempts::{Attempts, Budget};
use crate::client::ServerAddress;
use crate::keys::INVALIDATION_CHANNEL;
use crate::placement::{Bucket, Buckets};

/// The longest time that a busy machine needs for any step, a failover included.
const DEADLINE: Duration = Duration::from_mins(2);

/// A cluster of its own, and the events that woke a follower.
struct Fixture {
    cluster: RedisCluster,
    client: crate::Client,
    wakes: mpsc::UnboundedReceiver<Wake>,
    stop: CancellationToken,
    _stop: DropGuard,
    _scratch: ScratchDir,
}

impl Fixture {
    async fn start() -> Self {
        let scratch = ScratchDir::create().expect("a scratch folder");
        let cluster = RedisCluster::start(&scratch.path().join("redis"), 3, 1).expect("it starts");
        let client = crate::client(&cluster.url()).expect("a valid address");
        let (woken, wakes) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        tokio::spawn(follow(client.clone(), stop.clone(), move |wake| _ = woken.send(wake)));
        let stop_on_drop = stop.clone().drop_guard();
        let mut fixture =
            Self { cluster, client, wakes, stop, _stop: stop_on_drop, _scratch: scratch };
        fixture.until(Wake::Subscribed(Buckets::ALL)).await;
        fixture
    }

    /// The buckets of the first, the second or the third primary at the start.
    fn buckets(primary: usize) -> Buckets {
        let of_primary = |bucket: &Bucket| usize::from(bucket.slot()) * 3 / 16_384 == primary;
        Bucket::all().filter(of_primary).collect()
    }

    async fn until(&mut self, wanted: Wake) {
        let wait = async { while self.wakes.recv().await.expect("it follows") != wanted {} };
        tokio::time::timeout(DEADLINE, wait).await.unwrap_or_else(|_| panic!("never {wanted:?}"));
    }

    fn command(&self, node: usize, command: &str) -> String {
        self.cluster.nodes()[node].command(command).expect("it answers")
    }

    /// Waits until each primary has its marker.
    async fn until_marked(&self) {
        let deadline = Instant::now() + DEADLINE;
        for node in 0..3 {
            while !self.command(node, "KEYS weir:*:marker").starts_with("*1") {
                assert!(Instant::now() < deadline, "no marker");
                tokio::task::yield_now().await;
            }
        }
    }
}

#[tokio::test]
async fn gate_subscribes_at_every_primary_and_hears_each() {
    let mut fixture = Fixture::start().await;
    for node in 0..3 {
        let subscribers = fixture.command(node, &format!("PUBSUB NUMSUB {INVALIDATION_CHANNEL}"));
        assert!(subscribers.ends_with(":1\r\n"), "node {node}: {subscribers}");
        let subject = SubjectKey(7 + node as u128);
        fixture.command(node, &format!("PUBLISH {INVALIDATION_CHANNEL} {}", subject.to_hex()));
        fixture.until(Wake::Refunded(subject)).await;
    }
    let signal = Signal::start(fixture.client.clone(), fixture.stop.clone());
    signal.announce(3);
    fixture.until(Wake::Announced(3)).await;
}

/// Acceptance check 7.
#[tokio::test]
async fn announcement_of_a_primary_that_is_cut_off_from_the_bus_is_heard() {
    let mut fixture = Fixture::start().await;
    let port = fixture.cluster.nodes()[1].port();
    let other = ServerAddress { host: "127.0.0.1".to_owned(), port };
    let (mut at_other, _) = fixture.client.at(other).subscribe().await.expect("it accepts");
    at_other.subscribe(INVALIDATION_CHANNEL).await.expect("it subscribes");
    // A node that has forgotten the others sends them nothing.
    for node in 1..6 {
        let id = fixture.command(node, "CLUSTER MYID");
        let id = id.split("\r\n").nth(1).expect("an id");
        if node != 3 {
            assert_eq!(fixture.command(0, &format!("CLUSTER FORGET {id}")), "+OK\r\n");
        }
    }
    let [one, two] = [SubjectKey(1), SubjectKey(2)];
    fixture.command(0, &format!("PUBLISH {INVALIDATION_CHANNEL} {}", one.to_hex()));
    fixture.until(Wake::Refunded(one)).await;
    fixture.command(1, &format!("PUBLISH {INVALIDATION_CHANNEL} {}", two.to_hex()));
    fixture.until(Wake::Refunded(two)).await;
    let first = at_other.on_message().next().await.expect("a message");
    assert_eq!(first.get_payload_bytes(), two.to_hex().as_bytes(), "the bus was cut");
}

#[tokio::test]
async fn stalled_primary_ends_the_announcements_of_its_buckets_until_its_replica_has_taken_over() {
    let mut fixture = Fixture::start().await;
    fixture.cluster.nodes()[1].pause().expect("it ran");
    let others = Fixture::buckets(0).or(Fixture::buckets(2));
    fixture.until(Wake::Disconnected(others)).await;
    fixture.until(Wake::Subscribed(Buckets::ALL)).await;
    assert_eq!(fixture.cluster.owner(8_064), Some(4), "the replica serves");
    let signal = Signal::start(fixture.client.clone(), fixture.stop.clone());
    signal.announce(4);
    fixture.until(Wake::Announced(4)).await;
    fixture.cluster.nodes()[1].resume().expect("it was paused");
}

#[tokio::test]
async fn emptied_primary_is_noticed_although_the_others_have_their_data() {
    let mut fixture = Fixture::start().await;
    for node in 0..3 {
        fixture.until_marked().await;
        fixture.command(node, "FLUSHALL");
        fixture.until(Wake::DataLost).await;
    }
}

#[tokio::test]
async fn budgets_of_attempts_are_charged_on_a_cluster_and_follow_a_failover() {
    let mut fixture = Fixture::start().await;
    let attempts = Attempts::new(fixture.client.clone());
    let budget =
        [Budget { name: [1; 16], attempts_max: 2 }, Budget { name: [2; 16], attempts_max: 9 }];
    let now = weir_domain::time::Timestamp::from_millis(1_000_000);
    for expected in [Ok(()), Ok(()), Err(60_000)] {
        assert_eq!(attempts.admit(&budget, now, 60_000).await.expect("redis"), expected);
    }
    let owner = fixture.cluster.owner(usize::from(crate::slots::of_tag("attempts")));
    fixture.cluster.nodes()[owner.expect("it is covered")].kill().expect("it ran");
    fixture.until(Wake::Subscribed(Buckets::ALL)).await;
    let deadline = Instant::now() + DEADLINE;
    while attempts.admit(&budget, now, 60_000).await.is_err() {
        assert!(Instant::now() < deadline, "attempts are not charged");
        tokio::task::yield_now().await;
    }
}
