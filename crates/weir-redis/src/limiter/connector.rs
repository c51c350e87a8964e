//! Connects to Redis, and tries again at a bounded rate until it serves.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{ErrorKind, RedisResult, ServerErrorKind, Value};
use tokio::time::{Instant, sleep_until, timeout};

use super::pace::Pace;
use super::program::{Request, is_unknown};
use super::script;
use super::settings::LimiterSettings;
use super::status::Status;
use crate::client::{Client, Server};
use crate::error::RedisError;
use crate::keys::marker_of;

/// Makes connections, one at a time.
#[derive(Debug)]
pub(super) struct Connector {
    client: Client,
    settings: LimiterSettings,
    status: Arc<Status>,
    last_attempt: Option<Instant>,
}

/// A connection, its server, and the pace of Redis on it.
#[derive(Debug)]
pub(super) struct Connected {
    pub(super) connection: MultiplexedConnection,
    pub(super) server: Server,
    pub(super) pace: Pace,
}

/// The shortest time between two attempts: at most ten a second.
const ATTEMPT_EVERY: Duration = Duration::from_millis(100);
/// The longest pause between attempts. The pauses grow while the server answers but cannot serve before it changes.
const BACK_OFF_MAX: Duration = Duration::from_secs(2);
const LOG_EVERY: Duration = Duration::from_secs(1);
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);
/// The deadline of an attempt, which takes several round trips.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(1);

impl Connector {
    pub(super) fn new(client: Client, settings: LimiterSettings, status: Arc<Status>) -> Self {
        Self { client, settings, status, last_attempt: None }
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Connects, however long that takes. The second value is the result of the first probe on the connection: `Ok`, or a
    /// refusal that another connection would not change.
    pub(super) async fn connect(&mut self) -> (Connected, Result<(), RedisError>) {
        let mut logged = None;
        let mut back_off = ATTEMPT_EVERY;
        loop {
            if let Some(last) = self.last_attempt {
                sleep_until(last + ATTEMPT_EVERY).await;
            }
            self.last_attempt = Some(Instant::now());
            let attempt = timeout(ATTEMPT_TIMEOUT, self.attempt()).await;
            let error = match attempt.unwrap_or(Err(RedisError::Timeout)) {
                Ok(connected) => return connected,
                Err(error) => error,
            };
            self.log(&error, &mut logged);
            if is_worth_a_back_off(&error) {
                let is_asked = self.status.retry_after(with_jitter(back_off)).await;
                let longer = (back_off * 2).min(BACK_OFF_MAX);
                back_off = if is_asked { ATTEMPT_EVERY } else { longer };
            }
        }
    }

    async fn attempt(&self) -> Result<(Connected, Result<(), RedisError>), RedisError> {
        // The batcher enforces the deadlines of checks; those of the library are only a backstop.
        let timeout = self.settings.budget + PROBE_TIMEOUT;
        let (mut connection, server) = self.client.connect(timeout).await?;
        let sent = Instant::now();
        redis::cmd("PING").query_async::<()>(&mut connection).await?;
        let mut connected = Connected { connection, server, pace: Pace::new(sent.elapsed()) };
        match self.probe(&mut connected).await {
            Err(error @ RedisError::Refused(_)) if !error.wants_reconnection() => {
                Ok((connected, Err(error)))
            }
            Err(error) => Err(error),
            Ok(()) => Ok((connected, Ok(()))),
        }
    }

    /// Tests whether Redis would run the program, by a call without checks, which reads and writes nothing.
    pub(super) async fn probe(&self, connected: &mut Connected) -> Result<(), RedisError> {
        let call = call_nothing(&mut connected.connection, &self.settings);
        if timeout(PROBE_TIMEOUT, call).await.unwrap_or(Err(RedisError::Timeout))? {
            self.status.count_script_load();
        }
        let probe = self.probe_slot(&mut connected.connection);
        timeout(PROBE_TIMEOUT, probe).await.unwrap_or(Err(RedisError::Timeout))
    }

    /// Tests whether a node of a cluster serves its slots. A node that is cut off with a minority refuses only calls with keys.
    async fn probe_slot(&self, connection: &mut MultiplexedConnection) -> Result<(), RedisError> {
        let Some(node) = self.client.node() else { return Ok(()) };
        let map = self.client.slot_map(Duration::MAX).await?;
        let Some(bucket) = map.first_bucket_of(node) else { return Ok(()) };
        let read = redis::cmd("GET").arg(marker_of(bucket)).query_async::<Value>(connection).await;
        match read.map_err(RedisError::from) {
            // Another node has the slot by now, or the user has no right to read.
            Err(error @ RedisError::Refused(_)) if !error.wants_reconnection() => Ok(()),
            other => other.map(drop),
        }
    }

    /// Logs the reason why Redis cannot be reached: once for each successive reason, and at most once a second.
    fn log(&self, error: &RedisError, logged: &mut Option<(String, Instant)>) {
        let (cause, now) = (error.cause(), Instant::now());
        let is_due = |(before, at): &(String, Instant)| *before != cause && *at + LOG_EVERY <= now;
        if logged.as_ref().is_none_or(is_due) {
            let node = self.client.node().map(tracing::field::display);
            tracing::warn!(node, reason = error.label(), cause, "could not reach Redis");
            *logged = Some((cause, now));
        }
    }
}

/// Tests whether Redis would run the program.
pub(crate) async fn probe_program(
    connection: &mut MultiplexedConnection,
) -> Result<(), RedisError> {
    call_nothing(connection, &LimiterSettings::default()).await.map(drop)
}

/// Calls the program without checks. Returns whether Redis did not have it; Redis then has it now.
async fn call_nothing(
    connection: &mut MultiplexedConnection,
    settings: &LimiterSettings,
) -> Result<bool, RedisError> {
    let (clock, grace_ms) = settings.clock_and_grace();
    let called = script::command(&[], clock, grace_ms).query_async::<Value>(connection).await;
    match called.map_err(RedisError::from) {
        Err(error) if is_unknown(&error) => {
            let mut request = Request::new(true);
            request.add(&[], (clock, grace_ms), false);
            request.query_async(connection).await.into_iter().collect::<RedisResult<Vec<_>>>()?;
            Ok(true)
        }
        other => other.map(|_| false),
    }
}

fn is_worth_a_back_off(error: &RedisError) -> bool {
    let RedisError::Refused(error) = error else { return matches!(error, RedisError::NotPrimary) };
    error.kind() != ErrorKind::Server(ServerErrorKind::BusyLoading)
}

/// Returns between three and five quarters of `pause`, so that gates do not try in step.
fn with_jitter(pause: Duration) -> Duration {
    let random = u32::try_from(RandomState::new().hash_one(0) % 512).unwrap_or(0);
    pause * (768 + random) / 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_stays_within_a_quarter() {
        let pause = Duration::from_millis(1024);
        let (least, most) = (Duration::from_millis(768), Duration::from_millis(1280));
        assert!((0..1000).all(|_| (least..most).contains(&with_jitter(pause))));
    }
}
