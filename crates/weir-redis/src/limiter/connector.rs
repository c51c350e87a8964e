//! Connects to Redis, and tries again at a bounded rate until it serves.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, ErrorKind, ServerErrorKind, Value};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::pace::Pace;
use super::script;
use super::settings::LimiterSettings;
use super::status::Status;
use crate::error::RedisError;

/// Makes connections, one at a time.
#[derive(Debug)]
pub(super) struct Connector {
    client: Client,
    settings: LimiterSettings,
    status: Arc<Status>,
    last_attempt: Option<Instant>,
}

/// A connection, and the pace of Redis on it.
#[derive(Debug)]
pub(super) struct Connected {
    pub(super) connection: MultiplexedConnection,
    pub(super) pace: Pace,
}

/// The shortest time between two attempts: at most ten a second.
const ATTEMPT_EVERY: Duration = Duration::from_millis(100);
/// The longest pause between attempts. The pauses grow while the server answers but cannot serve before it changes.
const BACK_OFF_MAX: Duration = Duration::from_secs(2);
const LOG_EVERY: Duration = Duration::from_secs(1);
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

impl Connector {
    pub(super) fn new(client: Client, settings: LimiterSettings, status: Arc<Status>) -> Self {
        Self { client, settings, status, last_attempt: None }
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
            let attempt = timeout(PROBE_TIMEOUT, self.attempt()).await;
            let error = match attempt.unwrap_or(Err(RedisError::Timeout)) {
                Ok(connected) => return connected,
                Err(error) => error,
            };
            log(&error, &mut logged);
            if is_worth_a_back_off(&error) {
                sleep(with_jitter(back_off)).await;
                back_off = (back_off * 2).min(BACK_OFF_MAX);
            }
        }
    }

    async fn attempt(&self) -> Result<(Connected, Result<(), RedisError>), RedisError> {
        // The batcher enforces the deadlines of checks; those of the library are only a backstop.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(PROBE_TIMEOUT))
            .set_response_timeout(Some(self.settings.budget + PROBE_TIMEOUT));
        let mut connection =
            self.client.get_multiplexed_async_connection_with_config(&config).await?;
        let sent = Instant::now();
        redis::cmd("PING").query_async::<()>(&mut connection).await?;
        let mut connected = Connected { connection, pace: Pace::new(sent.elapsed()) };
        match self.probe(&mut connected).await {
            Err(error @ RedisError::Refused(_)) if !error.wants_reconnection() => {
                Ok((connected, Err(error)))
            }
            Err(error) => Err(error),
            Ok(()) => Ok((connected, Ok(()))),
        }
    }

    /// Tests whether Redis would run the script, by a call without checks, which reads and writes nothing.
    pub(super) async fn probe(&self, connected: &mut Connected) -> Result<(), RedisError> {
        let (clock, grace_ms) = self.settings.clock_and_grace();
        let connection = &mut connected.connection;
        let probe = async {
            let by_hash = script::by_hash(&[], clock, grace_ms);
            match run(connection, by_hash).await {
                Err(error) if is_unknown_script(&error) => {
                    self.status.count_script_load();
                    run(connection, script::by_text(&[], clock, grace_ms)).await
                }
                other => other,
            }
        };
        timeout(PROBE_TIMEOUT, probe).await.unwrap_or(Err(RedisError::Timeout))
    }
}

/// Whether Redis has lost the script. It then ran nothing.
pub(super) fn is_unknown_script(error: &RedisError) -> bool {
    let RedisError::Refused(error) = error else { return false };
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}

/// Logs the reason why Redis cannot be reached: once for each successive reason, and at most once a second.
fn log(error: &RedisError, logged: &mut Option<(String, Instant)>) {
    let (cause, now) = (error.cause(), Instant::now());
    let due = logged.as_ref().is_none_or(|(before, at)| *before != cause && *at + LOG_EVERY <= now);
    if due {
        tracing::warn!(reason = error.label(), cause, "redis cannot be reached");
        *logged = Some((cause, now));
    }
}

async fn run(connection: &mut MultiplexedConnection, call: Cmd) -> Result<(), RedisError> {
    call.query_async::<Value>(connection).await?;
    Ok(())
}

fn is_worth_a_back_off(error: &RedisError) -> bool {
    let RedisError::Refused(error) = error else { return false };
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
