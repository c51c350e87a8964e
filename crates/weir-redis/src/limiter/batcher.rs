//! The batcher: one connection, one call in flight, everything that waits in the next one.
//!
//! It keeps the deadlines of all who wait, so that none of them needs a timer. Who waits behind a call came after all
//! who are in it, so nobody is due before those whose call it is.
//!
//! It is also the breaker. Up: checks are sent. Down: checks are answered at once with "away" while
//! this task probes (half-open) until a fresh connection answers; nobody waits for the probing.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ErrorKind, ServerErrorKind, Value};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use weir_domain::time::Micros;

use super::deadline::StallTolerantDeadline;
use super::script::{self, Encoded};
use super::{Answer, DecidingClock, LimiterSettings};
use crate::error::RedisError;

/// Checks of one caller, and where the answer goes.
#[derive(Debug)]
pub(super) struct PendingCheck {
    pub(super) encoded: Encoded,
    /// The estimated script time, in microseconds.
    pub(super) cost: u32,
    pub(super) deadline: Instant,
    /// Gone once it was told.
    pub(super) reply: Option<oneshot::Sender<Result<Reply, RedisError>>>,
}

/// What a caller is told.
#[derive(Debug)]
pub(super) enum Reply {
    /// One answer for each check.
    Answers(Vec<Answer>),
    /// The call held periods of another time than this; nothing was done.
    OtherPeriod(Micros),
}

/// The task.
#[derive(Debug)]
pub(super) struct Batcher {
    client: Client,
    settings: LimiterSettings,
    waiting: mpsc::Receiver<PendingCheck>,
    up: Arc<AtomicBool>,
    timeouts_in_a_row: u32,
}

/// The estimated script time of one call at most, in microseconds: Redis serves nobody else meanwhile.
const COST_PER_CALL: u32 = 500;
/// Calls without an answer after which Redis counts as away.
const TIMEOUTS_UNTIL_DOWN: u32 = 3;
const PROBE_EVERY: Duration = Duration::from_millis(100);
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);
/// Time without a check after which Redis is asked whether it is still there.
const IDLE: Duration = Duration::from_millis(500);

impl Batcher {
    pub(super) fn new(
        client: Client,
        settings: LimiterSettings,
        waiting: mpsc::Receiver<PendingCheck>,
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
                let served = match self.next(&mut connection).await {
                    Ok(None) => return,
                    Ok(Some(first)) => {
                        let gathered = self.drain_batch(first);
                        self.serve(&mut connection, gathered).await
                    }
                    Err(error) => Err(error),
                };
                if let Err(error) = served {
                    tracing::warn!(error = &error as &dyn std::error::Error, "redis is away");
                    break;
                }
            }
            self.up.store(false, Ordering::Relaxed);
        }
    }

    /// Who asks next; `None`: nobody can any more. A connection that broke while nobody asked costs no check.
    async fn next(
        &mut self,
        connection: &mut MultiplexedConnection,
    ) -> Result<Option<PendingCheck>, RedisError> {
        loop {
            if let Ok(first) = tokio::time::timeout(IDLE, self.waiting.recv()).await {
                return Ok(first);
            }
            tokio::select! {
                first = self.waiting.recv() => return Ok(first),
                still_there = still_there(connection) => still_there?,
            }
        }
    }

    /// Probes until a fresh connection answers; who waits meanwhile is told that Redis is away.
    async fn connect(&mut self) -> Option<MultiplexedConnection> {
        let Self { client, settings, waiting, .. } = self;
        let mut said = String::new();
        loop {
            let attempt = tokio::time::timeout(PROBE_TIMEOUT, probe(client, settings.budget));
            let reason = match reject_while(waiting, attempt).await? {
                Ok(Ok(connection)) => return Some(connection),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "no answer in time".to_owned(),
            };
            // Once for each reason, for it is tried ten times a second.
            if reason != said {
                tracing::warn!(reason, "redis cannot be reached");
                said = reason;
            }
            reject_while(waiting, tokio::time::sleep(PROBE_EVERY)).await?;
        }
    }

    /// `first` and whatever waits behind it, up to the bound, by their deadlines; who has given up is left out.
    fn drain_batch(&mut self, first: PendingCheck) -> Vec<PendingCheck> {
        let mut cost = first.cost;
        let mut gathered = vec![first];
        while cost < COST_PER_CALL
            && let Ok(next) = self.waiting.try_recv()
        {
            cost = cost.saturating_add(next.cost);
            gathered.push(next);
        }
        gathered.retain(PendingCheck::is_awaited);
        gathered.sort_by_key(|it| it.deadline);
        gathered
    }

    /// Asks for all that was gathered. An error means that the connection is of no more use.
    async fn serve(
        &mut self,
        connection: &mut MultiplexedConnection,
        mut gathered: Vec<PendingCheck>,
    ) -> Result<(), RedisError> {
        while !gathered.is_empty() {
            match self.ask(connection, &mut gathered).await {
                Ok(script::Reply::Answers(all)) => {
                    self.timeouts_in_a_row = 0;
                    for (mut it, answers) in gathered.into_iter().zip(all) {
                        it.reply(Ok(Reply::Answers(answers)));
                    }
                    return Ok(());
                }
                Ok(script::Reply::OtherPeriod(now)) => {
                    self.timeouts_in_a_row = 0;
                    gathered = tell_whose_periods_are_others(gathered, now);
                }
                Err(error) => return self.failed(error, gathered),
            }
        }
        Ok(())
    }

    /// Says so to whoever waits; whether the connection is of no more use.
    fn failed(&mut self, error: RedisError, gathered: Vec<PendingCheck>) -> Result<(), RedisError> {
        let timeout = matches!(error, RedisError::Timeout);
        self.timeouts_in_a_row = if timeout { self.timeouts_in_a_row + 1 } else { 0 };
        let down = error.wants_reconnection() || self.timeouts_in_a_row >= TIMEOUTS_UNTIL_DOWN;
        if down {
            // Whoever asks from now on need not wait to hear it.
            self.up.store(false, Ordering::Relaxed);
        }
        for mut it in gathered {
            it.reply(Err(error.clone()));
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
        gathered: &mut [PendingCheck],
    ) -> Result<script::Reply, RedisError> {
        let clock = self.settings.clock.as_ref().map(DecidingClock::now);
        let grace_ms = u64::try_from(self.settings.grace.as_millis()).unwrap_or(1000);
        let by_hash = script::by_hash(&encoded(gathered), clock, grace_ms);
        let value = match heard(by_hash.query_async(connection), gathered).await {
            Err(RedisError::Refused(error))
                if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) =>
            {
                let by_text = script::by_text(&encoded(gathered), clock, grace_ms);
                heard(by_text.query_async(connection), gathered).await?
            }
            other => other?,
        };
        script::reply(&encoded(gathered), value)
    }
}

impl PendingCheck {
    /// Tells the outcome, if none was told yet. Who no longer waits need not hear it.
    fn reply(&mut self, outcome: Result<Reply, RedisError>) {
        if let Some(answer) = self.reply.take() {
            drop(answer.send(outcome));
        }
    }

    fn is_awaited(&self) -> bool {
        self.reply.as_ref().is_some_and(|it| !it.is_closed())
    }
}

fn encoded(gathered: &[PendingCheck]) -> Vec<&Encoded> {
    gathered.iter().map(|it| &it.encoded).collect()
}

/// Tells those whose periods do not hold at this time, and hands back the others: nobody's check fails because of the
/// company in which it travelled.
fn tell_whose_periods_are_others(gathered: Vec<PendingCheck>, now: Micros) -> Vec<PendingCheck> {
    let count = gathered.len();
    let (mut right, mut others): (Vec<_>, Vec<_>) =
        gathered.into_iter().partition(|it| it.encoded.holds_at(now));
    if right.len() == count {
        // The script looked at the same bounds, so this cannot be; asking again would change nothing.
        std::mem::swap(&mut right, &mut others);
    }
    for mut it in others {
        it.reply(Ok(Reply::OtherPeriod(now)));
    }
    right
}

/// Redis' answer, while anybody waits for it; each is told when it did not come within its time.
async fn heard(
    answer: impl Future<Output = redis::RedisResult<Value>>,
    gathered: &mut [PendingCheck],
) -> Result<Value, RedisError> {
    let (mut answer, mut deadline) = (pin!(answer), StallTolerantDeadline::default());
    for it in gathered {
        if let Some(answer) = deadline.wait(answer.as_mut(), it.deadline).await {
            return Ok(answer?);
        }
        it.reply(Err(RedisError::Timeout));
    }
    Err(RedisError::Timeout)
}

async fn probe(
    client: &Client,
    budget: Duration,
) -> Result<MultiplexedConnection, redis::RedisError> {
    // Deadlines are kept here, check by check; the library's own are only a backstop.
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(PROBE_TIMEOUT))
        .set_response_timeout(Some(budget + PROBE_TIMEOUT));
    let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
    redis::cmd("PING").query_async::<()>(&mut connection).await?;
    Ok(connection)
}

/// What comes of `work`, while all who wait are told that Redis is away; `None`: nobody can ask any more.
async fn reject_while<T>(
    waiting: &mut mpsc::Receiver<PendingCheck>,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return Some(done),
            waiting = waiting.recv() => waiting?.reply(Err(RedisError::Away)),
        }
    }
}

async fn still_there(connection: &mut MultiplexedConnection) -> Result<(), RedisError> {
    let ping = async { redis::cmd("PING").query_async::<()>(connection).await };
    Ok(tokio::time::timeout(PROBE_TIMEOUT, ping).await.map_err(|_| RedisError::Timeout)??)
}
