//! Announces versions of the rulebook. A request only stores the version; one task publishes the newest one, so no request
//! waits for Redis and many changes need few messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::client::{Client, Server};
use crate::error::RedisError;
use crate::keys::SIGNAL_CHANNEL;

/// Announces to the gates that the rulebook changed.
#[derive(Debug, Clone)]
pub struct Signal {
    newest: watch::Sender<u64>,
    failures: Arc<AtomicU64>,
}

/// The task that publishes versions.
#[derive(Debug)]
struct Announcer {
    client: Client,
    connection: Option<(MultiplexedConnection, Server)>,
    newest: watch::Receiver<u64>,
    failures: Arc<AtomicU64>,
}

/// The deadline of one publication, with a second attempt on a fresh connection.
const TIMEOUT: Duration = Duration::from_secs(1);
/// The pause before a failed announcement is repeated.
const RETRY_EVERY: Duration = Duration::from_secs(1);
/// The most repetitions of one announcement. After them the gates rely on their timers.
const RETRIES_MAX: u32 = 60;

impl Signal {
    /// Starts the task that publishes. The task ends with `stop`, or when the signal is dropped.
    pub fn start(client: Client, stop: CancellationToken) -> Self {
        let (signal, task) = Self::new(client, stop);
        tokio::spawn(task);
        signal
    }

    /// Creates a signal and the task that publishes for it. The task ends with `stop`, or when the signal is dropped.
    pub fn new(
        client: Client,
        stop: CancellationToken,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (newest, receiver) = watch::channel(0);
        let failures = Arc::<AtomicU64>::default();
        let announcer = Announcer {
            client,
            connection: None,
            newest: receiver,
            failures: Arc::clone(&failures),
        };
        (Self { newest, failures }, announcer.run(stop))
    }

    /// Announces a version. Returns at once: when Redis cannot be reached, gates load the version by their timers. A
    /// version below the previous one is announced too: after a restore of Postgres, versions begin again at a lower
    /// number.
    pub fn announce(&self, version: u64) {
        self.newest.send_replace(version);
    }

    /// The number of announcements that failed.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }
}

impl Announcer {
    async fn run(mut self, stop: CancellationToken) {
        let mut retries_left = 0;
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                changed = self.newest.changed() => match changed {
                    Ok(()) => retries_left = RETRIES_MAX,
                    Err(_) => break,
                },
                () = sleep(RETRY_EVERY), if retries_left > 0 => retries_left -= 1,
            }
            if self.announce().await {
                retries_left = 0;
            }
        }
        // A change was possibly committed just before the end.
        if self.newest.has_changed().unwrap_or(false) {
            self.announce().await;
        }
    }

    /// Publishes the newest version. Returns whether that succeeded.
    async fn announce(&mut self) -> bool {
        let version = *self.newest.borrow_and_update();
        let published = timeout(TIMEOUT, self.publish(version)).await;
        if let Err(error) = published.unwrap_or(Err(RedisError::Timeout)) {
            self.connection = None;
            self.failures.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(%error, rulebook.version = version, "could not announce the rulebook");
            return false;
        }
        true
    }

    async fn publish(&mut self, version: u64) -> Result<(), RedisError> {
        let mut publish = redis::cmd("PUBLISH");
        publish.arg(SIGNAL_CHANNEL).arg(version);
        // A replica would accept the message, and hand it to its own subscribers alone.
        if let Some((connection, server)) = &mut self.connection
            && self.client.is_current(server).await
            && publish.query_async::<i64>(connection).await.is_ok()
        {
            return Ok(());
        }
        // The connection has possibly died while it was idle. A version that is announced twice does no harm.
        let connected = self.client.connect(TIMEOUT / 2).await?;
        let (connection, _) = self.connection.insert(connected);
        publish.query_async::<i64>(connection).await?;
        Ok(())
    }
}
