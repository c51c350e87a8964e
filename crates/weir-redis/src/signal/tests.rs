//! The signal over real Redis, and over connections that fall silent.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use weir_domain::id::TenantId;
use weir_domain::subject::SubjectKey;
use weir_local::{Redis, RedisOptions, Relay, ScratchDir};

use super::{Signal, Wake, follow, marker};
use crate::Client;
use crate::keys::{INVALIDATION_CHANNEL, MARKER, SIGNAL_CHANNEL, reset_message};
use crate::placement::Buckets;

/// The longest time that a busy machine needs for any step.
const DEADLINE: Duration = Duration::from_secs(20);

/// A Redis of its own, and the events that woke a follower.
struct Fixture {
    redis: Redis,
    client: Client,
    wakes: mpsc::UnboundedReceiver<Wake>,
    stop: CancellationToken,
    _stop: DropGuard,
    _scratch: ScratchDir,
}

impl Fixture {
    async fn start() -> Self {
        let (redis, scratch) = redis();
        let client = crate::client(&redis.url()).expect("a local address");
        Self::following(redis, scratch, client).await
    }

    /// A fixture whose follower connects by `client`.
    async fn following(redis: Redis, scratch: ScratchDir, client: Client) -> Self {
        let (woken, wakes) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        tokio::spawn(follow(client.clone(), stop.clone(), move |wake| _ = woken.send(wake)));
        let stop_on_drop = stop.clone().drop_guard();
        let mut fixture =
            Self { redis, client, wakes, stop, _stop: stop_on_drop, _scratch: scratch };
        fixture.until(Wake::Subscribed(Buckets::ALL)).await;
        fixture
    }

    async fn until(&mut self, wanted: Wake) {
        let wait = async {
            while let Some(wake) = self.wakes.recv().await {
                if wake == wanted {
                    return;
                }
            }
            panic!("the follower ended");
        };
        tokio::time::timeout(DEADLINE, wait).await.unwrap_or_else(|_| panic!("never {wanted:?}"));
    }
}

fn redis() -> (Redis, ScratchDir) {
    let scratch = ScratchDir::create().expect("a scratch folder");
    let data_dir = scratch.path().join("redis");
    let options = RedisOptions { data_dir, settings: Vec::new() };
    (Redis::start(options).expect("redis starts"), scratch)
}

#[tokio::test]
async fn half_open_subscription_is_noticed_and_made_anew() {
    let (redis, scratch) = redis();
    let relay = Relay::start(redis.port()).expect("it starts");
    let near = format!("redis://:{}@127.0.0.1:{}", redis.password(), relay.port());
    let client = crate::client(&near).expect("a local address");
    let mut fixture = Fixture::following(redis, scratch, client).await;
    assert!(relay.silence() > 0);
    fixture.until(Wake::Disconnected(Buckets::NONE)).await;
    fixture.until(Wake::Subscribed(Buckets::ALL)).await;
    let signal = Signal::start(fixture.client.clone(), fixture.stop.clone());
    signal.announce(3);
    fixture.until(Wake::Announced(3)).await;
}

#[tokio::test]
async fn stalled_redis_ends_the_subscription_and_its_return_begins_one() {
    let mut fixture = Fixture::start().await;
    fixture.redis.pause().expect("it ran");
    fixture.until(Wake::Disconnected(Buckets::NONE)).await;
    fixture.redis.resume().expect("it was paused");
    fixture.until(Wake::Subscribed(Buckets::ALL)).await;
}

#[tokio::test]
async fn emptied_redis_is_noticed_each_time_and_by_a_restart_too() {
    let mut fixture = Fixture::start().await;
    for round in 0..3 {
        let deadline = Instant::now() + DEADLINE;
        while !fixture.redis.command("EXISTS weir:marker").expect("it runs").contains('1') {
            assert!(Instant::now() < deadline, "no marker");
            tokio::task::yield_now().await;
        }
        if round < 2 {
            fixture.redis.command("FLUSHALL").expect("it runs");
        } else {
            fixture.redis.restart().expect("it starts");
        }
        fixture.until(Wake::DataLost).await;
    }
}

#[tokio::test]
async fn lost_data_is_reported_by_redis_before_the_marker_is_read_again() {
    let (redis, _scratch) = redis();
    let client = crate::client(&redis.url()).expect("a local address");
    let (woken, mut wakes) = mpsc::unbounded_channel();
    let watching = tokio::spawn(async move {
        let wake = move |wake| _ = woken.send(wake);
        // The marker is never read because time has passed.
        marker::watch_every(Duration::from_hours(1), &client, MARKER, &wake).await;
    });
    for _ in 0..3 {
        let deadline = Instant::now() + DEADLINE;
        // The watcher reads the marker again after its own write, which ends the tracking.
        while !redis.command("EXISTS weir:marker").expect("it runs").contains('1')
            || redis.command("INFO stats").expect("it runs").contains("tracking_total_keys:0")
        {
            assert!(Instant::now() < deadline, "no tracked marker");
            tokio::task::yield_now().await;
        }
        redis.command("FLUSHALL").expect("it runs");
        let wake = tokio::time::timeout(DEADLINE, wakes.recv()).await;
        assert_eq!(wake.expect("in time"), Some(Wake::DataLost));
    }
    watching.abort();
}

#[tokio::test]
async fn lost_data_is_noticed_by_a_user_without_the_right_to_track_keys() {
    let (redis, _scratch) = redis();
    let user = "ACL SETUSER plain on >plain ~weir:* +get +set +ping";
    assert!(redis.command(user).expect("it runs").contains("OK"));
    let client = crate::client(&format!("redis://plain:plain@127.0.0.1:{}", redis.port()));
    let client = client.expect("a local address");
    let (woken, mut wakes) = mpsc::unbounded_channel();
    let watching = tokio::spawn(async move {
        let wake = move |wake| _ = woken.send(wake);
        marker::watch(&client, MARKER, &wake).await;
    });
    let deadline = Instant::now() + DEADLINE;
    while !redis.command("EXISTS weir:marker").expect("it runs").contains('1') {
        assert!(Instant::now() < deadline, "no marker");
        tokio::task::yield_now().await;
    }
    redis.command("FLUSHALL").expect("it runs");
    let wake = tokio::time::timeout(DEADLINE, wakes.recv()).await;
    assert_eq!(wake.expect("noticed in time"), Some(Wake::DataLost));
    watching.abort();
}

#[tokio::test]
async fn malformed_signals_wake_as_such() {
    let mut fixture = Fixture::start().await;
    let mut connection = fixture.client.connect(DEADLINE).await.expect("accepted").0;
    for payload in ["", "-1", "18446744073709551616", "4 2", "\u{0}", "{}"] {
        let mut publish = redis::cmd("PUBLISH");
        publish.arg(SIGNAL_CHANNEL).arg(payload);
        publish.query_async::<()>(&mut connection).await.expect("redis publishes");
        fixture.until(Wake::Malformed).await;
    }
}

#[tokio::test]
async fn resets_name_the_tenant_and_the_subject() {
    let mut fixture = Fixture::start().await;
    let mut connection = fixture.client.connect(DEADLINE).await.expect("accepted").0;
    let (tenant, subject) = (TenantId::from_u128(3), SubjectKey(7));
    let whole = reset_message(&tenant.to_string(), subject);
    let wake = Wake::Reset(tenant, subject);
    for (payload, wake) in
        [(&*whole, wake), (&whole[..1], Wake::Malformed), ("!7", Wake::Malformed)]
    {
        let mut publish = redis::cmd("PUBLISH");
        publish.arg(INVALIDATION_CHANNEL).arg(payload);
        publish.query_async::<()>(&mut connection).await.expect("redis publishes");
        fixture.until(wake).await;
    }
}

#[tokio::test]
async fn announcing_waits_for_nothing_and_the_newest_version_arrives() {
    let mut fixture = Fixture::start().await;
    let signal = Signal::start(fixture.client.clone(), fixture.stop.clone());
    signal.announce(1);
    fixture.until(Wake::Announced(1)).await;
    fixture.redis.pause().expect("it ran");
    // This function is not asynchronous, so it cannot wait.
    (2..=60).for_each(|version| signal.announce(version));
    fixture.redis.resume().expect("it was paused");
    fixture.until(Wake::Announced(60)).await;
    // After a restore of Postgres, versions begin again at a lower number.
    signal.announce(7);
    fixture.until(Wake::Announced(7)).await;
}

#[tokio::test]
async fn an_announcement_that_failed_is_repeated_until_it_arrives() {
    let mut fixture = Fixture::start().await;
    let mut connection = fixture.client.connect(DEADLINE).await.expect("redis").0;
    let mut announcer = redis::cmd("ACL");
    announcer.arg("SETUSER").arg("announcer").arg("on").arg(">pass").arg("allchannels");
    let mut set = async |rights: &[&str]| {
        let mut command = announcer.clone();
        command.arg(rights).query_async::<()>(&mut connection).await.expect("rights are set");
    };
    set(&["+@all", "-publish"]).await;
    let url = format!("redis://announcer:pass@127.0.0.1:{}", fixture.redis.port());
    let client = crate::client(&url).expect("a local address");
    let signal = Signal::start(client, fixture.stop.clone());
    signal.announce(1);
    let deadline = Instant::now() + DEADLINE;
    while signal.failures() == 0 {
        assert!(Instant::now() < deadline, "no failure was counted");
        tokio::task::yield_now().await;
    }
    set(&["+publish"]).await;
    fixture.until(Wake::Announced(1)).await;
}

#[tokio::test]
async fn announcements_that_fail_are_counted_and_end_in_time() {
    let mut fixture = Fixture::start().await;
    let signal = Signal::start(fixture.client.clone(), fixture.stop.clone());
    fixture.redis.pause().expect("it ran");
    signal.announce(1);
    let deadline = Instant::now() + DEADLINE;
    while signal.failures() == 0 {
        assert!(Instant::now() < deadline, "no failure was counted");
        tokio::task::yield_now().await;
    }
    fixture.until(Wake::Disconnected(Buckets::NONE)).await;
    fixture.redis.resume().expect("it was paused");
    fixture.until(Wake::Subscribed(Buckets::ALL)).await;
    signal.announce(2);
    fixture.until(Wake::Announced(2)).await;
}
