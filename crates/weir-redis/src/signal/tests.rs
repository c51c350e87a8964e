//! The signal over real Redis, and over connections that fall silent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use redis::IntoConnectionInfo as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use weir_local::{Redis, RedisOptions, ScratchDir};

use super::{Signal, Wake, follow};
use crate::Client;
use crate::keys::SIGNAL_CHANNEL;

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
        fixture.until(Wake::Subscribed).await;
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

/// Forwards connections to Redis until they are silenced. A silenced connection stays open and passes nothing.
struct Proxy {
    port: u16,
    /// Connections numbered below this are silent.
    silent_below: Arc<AtomicU64>,
    accepted: Arc<AtomicU64>,
}

impl Proxy {
    async fn start(redis_port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let port = listener.local_addr().expect("it is bound").port();
        let (silent_below, accepted) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let proxy =
            Self { port, silent_below: Arc::clone(&silent_below), accepted: Arc::clone(&accepted) };
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let number = accepted.fetch_add(1, Ordering::SeqCst);
                let far =
                    TcpStream::connect(("127.0.0.1", redis_port)).await.expect("redis accepts");
                tokio::spawn(forward(near, far, number, Arc::clone(&silent_below)));
            }
        });
        proxy
    }

    /// Silences all connections made so far.
    fn silence(&self) {
        self.silent_below.store(self.accepted.load(Ordering::SeqCst), Ordering::SeqCst);
    }
}

async fn forward(near: TcpStream, far: TcpStream, number: u64, silent_below: Arc<AtomicU64>) {
    let (mut from_near, mut from_far) = ([0; 4096], [0; 4096]);
    loop {
        let (source, target, buffer) = tokio::select! {
            _ = near.readable() => (&near, &far, &mut from_near),
            _ = far.readable() => (&far, &near, &mut from_far),
        };
        match source.try_read(buffer) {
            Ok(0) => return,
            Ok(_) if number < silent_below.load(Ordering::SeqCst) => {}
            Ok(count) => {
                let mut rest = &buffer[..count];
                while !rest.is_empty() && target.writable().await.is_ok() {
                    if let Ok(written) = target.try_write(rest) {
                        rest = &rest[written..];
                    }
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

#[tokio::test]
async fn half_open_subscription_is_noticed_and_made_anew() {
    let (redis, scratch) = redis();
    let info = redis.url().into_connection_info().expect("a local address");
    let redis::ConnectionAddr::Tcp(_, port) = *info.addr() else { panic!("not TCP") };
    let proxy = Proxy::start(port).await;
    let near = info.set_addr(redis::ConnectionAddr::Tcp("127.0.0.1".to_owned(), proxy.port));
    let client = Client::open(near).expect("a local address");
    let mut fixture = Fixture::following(redis, scratch, client).await;
    proxy.silence();
    fixture.until(Wake::Disconnected).await;
    fixture.until(Wake::Subscribed).await;
    let signal = Signal::start(fixture.client.clone(), fixture.stop.clone());
    signal.announce(3);
    fixture.until(Wake::Announced(3)).await;
}

#[tokio::test]
async fn stalled_redis_ends_the_subscription_and_its_return_begins_one() {
    let mut fixture = Fixture::start().await;
    fixture.redis.pause().expect("it ran");
    fixture.until(Wake::Disconnected).await;
    fixture.redis.resume().expect("it was paused");
    fixture.until(Wake::Subscribed).await;
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
async fn malformed_signals_wake_as_such() {
    let mut fixture = Fixture::start().await;
    let mut connection = fixture.client.get_multiplexed_async_connection().await.expect("accepted");
    for payload in ["", "-1", "18446744073709551616", "4 2", "\u{0}", "{}"] {
        let mut publish = redis::cmd("PUBLISH");
        publish.arg(SIGNAL_CHANNEL).arg(payload);
        publish.query_async::<()>(&mut connection).await.expect("redis publishes");
        fixture.until(Wake::Malformed).await;
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
    let mut connection = fixture.client.get_multiplexed_async_connection().await.expect("redis");
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
    fixture.until(Wake::Disconnected).await;
    fixture.redis.resume().expect("it was paused");
    fixture.until(Wake::Subscribed).await;
    signal.announce(2);
    fixture.until(Wake::Announced(2)).await;
}
