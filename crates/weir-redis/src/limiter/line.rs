//! The line to Redis: one connection, one call in flight, everything that waits in the next one.
//!
//! It is also the breaker. Up: checks are sent. Down: checks are answered at once with "away" while
//! this task probes (half-open) until a fresh connection answers; nobody waits for the probing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ErrorKind, ServerErrorKind, Value};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use weir_domain::time::Micros;

use super::patience;
use super::script::{self, Encoded, Reply};
use super::{Answer, DecidingClock, LimiterSettings};
use crate::error::RedisError;

/// Checks of one caller, and where the answer goes.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) encoded: Encoded,
    pub(super) deadline: Instant,
    pub(super) answer: oneshot::Sender<Result<Told, RedisError>>,
}

/// What a caller is told.
#[derive(Debug)]
pub(super) enum Told {
    /// One answer for each check.
    Answers(Vec<Answer>),
    /// The call held periods of another time than this; nothing was done.
    OtherPeriod(Micros),
}

/// The task.
#[derive(Debug)]
pub(super) struct Line {
    client: Client,
    settings: LimiterSettings,
    waiting: mpsc::Receiver<Waiting>,
    up: Arc<AtomicBool>,
    timeouts_in_a_row: u32,
}

/// Most checks of one call: bounds how long the script keeps Redis from others.
const CHECKS_PER_CALL: usize = 256;
/// Calls without an answer after which Redis counts as away.
const TIMEOUTS_UNTIL_DOWN: u32 = 3;
const PROBE_EVERY: Duration = Duration::from_millis(100);
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);
/// Time without a check after which Redis is asked whether it is still there.
const IDLE: Duration = Duration::from_millis(500);

impl Line {
    pub(super) fn new(
        client: Client,
        settings: LimiterSettings,
        waiting: mpsc::Receiver<Waiting>,
        up: Arc<AtomicBool>,
    ) -> Self {
        Self { client, settings, waiting, up, timeouts_in_a_row: 0 }
    }

    /// Works until `stop`, or until nobody can ask any more.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        stop.run_until_cancelled(self.work()).await;
        self.up.store(false, Ordering::Relaxed);
    }

    async fn work(&mut self) {
        let mut was_up = false;
        loop {
            let Some(mut connection) = self.connect().await else {
                return;
            };
            self.up.store(true, Ordering::Relaxed);
            if was_up {
                tracing::warn!("redis answers again");
            }
            was_up = true;
            self.timeouts_in_a_row = 0;
            loop {
                let served = match tokio::time::timeout(IDLE, self.waiting.recv()).await {
                    Ok(None) => return,
                    Ok(Some(first)) => {
                        let gathered = self.gather(first);
                        self.serve(&mut connection, gathered).await
                    }
                    // A connection that broke while nobody asked costs no check.
                    Err(_) => still_there(&mut connection).await,
                };
                if let Err(error) = served {
                    tracing::warn!(error = &error as &dyn std::error::Error, "redis is away");
                    break;
                }
            }
            self.up.store(false, Ordering::Relaxed);
        }
    }

    /// Probes until a fresh connection answers; what waits meanwhile is told that Redis is away.
    async fn connect(&mut self) -> Option<MultiplexedConnection> {
        loop {
            match tokio::time::timeout(PROBE_TIMEOUT, self.probe()).await {
                Ok(Ok(connection)) => return Some(connection),
                Ok(Err(error)) => tracing::debug!(%error, "redis does not answer"),
                Err(_) => tracing::debug!("redis does not answer in time"),
            }
            let pause = tokio::time::sleep(PROBE_EVERY);
            tokio::pin!(pause);
            loop {
                tokio::select! {
                    () = &mut pause => break,
                    waiting = self.waiting.recv() => {
                        // An error only means that the caller no longer waits.
                        drop(waiting?.answer.send(Err(RedisError::Away)));
                    }
                }
            }
        }
    }

    async fn probe(&self) -> Result<MultiplexedConnection, redis::RedisError> {
        // Deadlines are kept here, check by check; the library's own are only a backstop.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(PROBE_TIMEOUT))
            .set_response_timeout(Some(self.settings.budget + PROBE_TIMEOUT));
        let connection = self.client.get_multiplexed_async_connection_with_config(&config);
        let mut connection = connection.await?;
        redis::cmd("PING").query_async::<()>(&mut connection).await?;
        Ok(connection)
    }

    /// `first` and whatever waits behind it, up to the bound; who has given up is left out.
    fn gather(&mut self, first: Waiting) -> Vec<Waiting> {
        let mut checks = first.encoded.checks();
        let mut gathered = vec![first];
        while checks < CHECKS_PER_CALL
            && let Ok(next) = self.waiting.try_recv()
        {
            checks += next.encoded.checks();
            gathered.push(next);
        }
        gathered.retain(|it| !it.answer.is_closed());
        gathered
    }

    /// Asks for all that was gathered. An error means that the connection is of no more use.
    async fn serve(
        &mut self,
        connection: &mut MultiplexedConnection,
        mut gathered: Vec<Waiting>,
    ) -> Result<(), RedisError> {
        while let Some(deadline) = gathered.iter().map(|it| it.deadline).max() {
            let all: Vec<&Encoded> = gathered.iter().map(|it| &it.encoded).collect();
            match self.ask(connection, &all, deadline).await {
                Ok(Reply::Answers(all)) => {
                    self.timeouts_in_a_row = 0;
                    for (it, answers) in gathered.into_iter().zip(all) {
                        drop(it.answer.send(Ok(Told::Answers(answers))));
                    }
                    return Ok(());
                }
                Ok(Reply::OtherPeriod(now)) => {
                    self.timeouts_in_a_row = 0;
                    gathered = tell_whose_periods_are_others(gathered, now);
                }
                Err(error) => return self.failed(error, gathered),
            }
        }
        Ok(())
    }

    /// Says so to whoever waits; whether the connection is of no more use.
    fn failed(&mut self, error: RedisError, gathered: Vec<Waiting>) -> Result<(), RedisError> {
        let timeout = matches!(error, RedisError::Timeout);
        self.timeouts_in_a_row = if timeout { self.timeouts_in_a_row + 1 } else { 0 };
        let down = error.wants_reconnection() || self.timeouts_in_a_row >= TIMEOUTS_UNTIL_DOWN;
        if down {
            // Whoever asks from now on need not wait to hear it.
            self.up.store(false, Ordering::Relaxed);
        }
        for it in gathered {
            drop(it.answer.send(Err(error.clone())));
        }
        if down {
            return Err(error);
        }
        if !timeout {
            tracing::warn!(error = &error as &dyn std::error::Error, "redis refused a call");
        }
        Ok(())
    }

    async fn ask(
        &self,
        connection: &mut MultiplexedConnection,
        all: &[&Encoded],
        deadline: Instant,
    ) -> Result<Reply, RedisError> {
        let clock = self.settings.clock.as_ref().map(DecidingClock::now);
        let grace_ms = u64::try_from(self.settings.grace.as_millis()).unwrap_or(1000);
        let by_hash = script::by_hash(all, clock, grace_ms);
        let value = match within(by_hash.query_async(connection), deadline).await {
            Err(RedisError::Refused(error))
                if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) =>
            {
                let by_text = script::by_text(all, clock, grace_ms);
                within(by_text.query_async(connection), deadline).await?
            }
            other => other?,
        };
        script::reply(all, value)
    }
}

/// Tells those whose periods do not hold at this time, and hands back the others: nobody's check fails because of the
/// company in which it travelled.
fn tell_whose_periods_are_others(gathered: Vec<Waiting>, now: Micros) -> Vec<Waiting> {
    let count = gathered.len();
    let (mut right, mut others): (Vec<_>, Vec<_>) =
        gathered.into_iter().partition(|it| it.encoded.holds_at(now));
    if right.len() == count {
        // The script looked at the same bounds, so this cannot be; asking again would change nothing.
        std::mem::swap(&mut right, &mut others);
    }
    for it in others {
        drop(it.answer.send(Ok(Told::OtherPeriod(now))));
    }
    right
}

async fn within(
    answer: impl Future<Output = redis::RedisResult<Value>>,
    deadline: Instant,
) -> Result<Value, RedisError> {
    Ok(patience::within(answer, deadline).await.ok_or(RedisError::Timeout)??)
}

async fn still_there(connection: &mut MultiplexedConnection) -> Result<(), RedisError> {
    let ping = async { redis::cmd("PING").query_async::<()>(connection).await };
    Ok(tokio::time::timeout(PROBE_TIMEOUT, ping).await.map_err(|_| RedisError::Timeout)??)
}
