//! The limiter: checks in, decisions out, never later than the budget.
//!
//! Checks that wait for Redis travel together (`batcher`): while one call is in flight the next
//! gathers, so nothing waits for a timer and a busy gate makes few, large calls.

mod batcher;
mod cost;
mod deadline;
mod periods;
mod reset;
mod script;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redis::Client;
use smallvec::SmallVec;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use weir_domain::charge::RuleCharge;
use weir_domain::counter::CounterName;
use weir_domain::decide::Decision;
use weir_domain::id::TenantId;
use weir_domain::request::Act;
use weir_domain::time::Micros;

use self::batcher::Reply;
use self::periods::Periods;
use self::script::Encoded;
use crate::error::RedisError;
use crate::keys::{FORGET_CHANNEL, RESET};

/// Decides checks by Redis.
#[derive(Debug, Clone)]
pub struct Limiter {
    queue: mpsc::Sender<batcher::PendingCheck>,
    up: Arc<AtomicBool>,
    periods: Arc<Periods>,
    budget: Duration,
    client: Client,
}

/// How the limiter asks.
#[derive(Debug, Clone)]
pub struct LimiterSettings {
    /// Longest that a check waits for Redis, connection included.
    pub budget: Duration,
    /// Added to the expiry of every key, against rounding: at most one second.
    pub grace: Duration,
    /// The deciding clock; `None`: Redis' own.
    pub clock: Option<DecidingClock>,
}

/// A clock that decides instead of Redis' own: for tests, which supply the time.
#[derive(Clone)]
pub struct DecidingClock(Arc<dyn Fn() -> Micros + Send + Sync>);

/// One check as it is asked.
#[derive(Debug, Clone)]
pub struct Asked<'a> {
    /// Whose counters.
    pub tenant: TenantId,
    /// What is to be done.
    pub act: Act,
    /// How much to take.
    pub cost: u64,
    /// The rules it meets.
    pub rules: &'a [RuleCharge],
    /// Names the request, so that a repeat takes nothing.
    pub idempotency: Option<Idempotency>,
}

/// What makes a check repeatable.
#[derive(Debug, Clone)]
pub struct Idempotency {
    /// The caller's key.
    pub key: String,
    /// Tells requests apart that use the same key.
    pub fingerprint: String,
    /// Handed back with a repeated answer.
    pub text: String,
}

/// The answer to one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Decided at this time, one decision for each limit of each rule.
    Decided(Micros, Vec<Decision>),
    /// The first answer to the same request, with the text given then. Nothing was taken.
    Repeated(Micros, String, Vec<Decision>),
    /// The idempotency key was used for another request. Nothing was taken.
    KeyReused,
}

type Receiver = oneshot::Receiver<Result<Reply, RedisError>>;

/// Most checks that wait; one more is refused at once.
const WAITING_MAX: usize = 10_000;
const RESET_TIMEOUT: Duration = Duration::from_secs(1);

impl Default for LimiterSettings {
    fn default() -> Self {
        Self { budget: Duration::from_millis(10), grace: Duration::from_secs(1), clock: None }
    }
}

impl DecidingClock {
    /// A clock that asks `now` once for each call of the script.
    pub fn new(now: impl Fn() -> Micros + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    fn now(&self) -> Micros {
        (self.0)()
    }
}

impl fmt::Debug for DecidingClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DecidingClock")
    }
}

impl Limiter {
    /// Starts the task that asks Redis; it ends with `stop`, or with the last handle.
    pub fn start(client: Client, settings: LimiterSettings, stop: CancellationToken) -> Self {
        let (queue, waiting) = mpsc::channel(WAITING_MAX);
        let up = Arc::new(AtomicBool::new(false));
        let budget = settings.budget;
        let batcher = batcher::Batcher::new(client.clone(), settings, waiting, Arc::clone(&up));
        tokio::spawn(batcher.run(stop));
        Self { queue, up, periods: Arc::default(), budget, client }
    }

    /// Whether Redis answers.
    pub fn up(&self) -> bool {
        self.up.load(Ordering::Relaxed)
    }

    /// Decides checks in order and independently of one another; returns one result for each check.
    ///
    /// A batch is sent in parts, so that no call of the script takes long. When a part fails, only its checks have an error;
    /// the parts before it were decided and stay charged.
    pub async fn check(&self, asked: &[Asked<'_>]) -> Vec<Result<Answer, RedisError>> {
        let deadline = Instant::now() + self.budget;
        let send = |part| (part, self.send(self.encode(part), cost::of(part), deadline));
        let sent: SmallVec<[_; 1]> = cost::parts(asked).map(send).collect();
        let mut results = Vec::with_capacity(asked.len());
        for (part, sent) in sent {
            match self.answers(part, sent, deadline).await {
                Ok(answers) => results.extend(answers.into_iter().map(Ok)),
                Err(error) => results.extend(part.iter().map(|_| Err(error.clone()))),
            }
        }
        results
    }

    /// Returns units that were taken before `ends`, unless Redis' clock is within a second of it: afterwards they
    /// would be those of others. Returns one result for each check; [`RedisError::WindowOver`] means that it was too late.
    pub async fn give_back(
        &self,
        asked: &[Asked<'_>],
        ends: Micros,
    ) -> Vec<Result<(), RedisError>> {
        let deadline = Instant::now() + self.budget;
        let send = |part| {
            let encoded = self.encode(part).only_before(ends);
            (part, self.send(encoded, cost::of(part), deadline))
        };
        let sent: SmallVec<[_; 1]> = cost::parts(asked).map(send).collect();
        let mut results = Vec::with_capacity(asked.len());
        for (part, sent) in sent {
            let result = match received(sent).await {
                Ok(Reply::Answers(_)) => Ok(()),
                Ok(Reply::OtherPeriod(_)) => Err(RedisError::WindowOver),
                Err(error) => Err(error),
            };
            results.extend(part.iter().map(|_| result.clone()));
        }
        results
    }

    /// The answers to a part of a batch that was sent.
    async fn answers(
        &self,
        part: &[Asked<'_>],
        sent: Result<Receiver, RedisError>,
        deadline: Instant,
    ) -> Result<Vec<Answer>, RedisError> {
        let now = match received(sent).await? {
            Reply::Answers(answers) => return Ok(answers),
            Reply::OtherPeriod(now) => now,
        };
        // The script compares periods before it reads or writes anything, so sending the checks again is safe.
        self.periods.heard(now);
        match received(self.send(self.encode(part), cost::of(part), deadline)).await? {
            Reply::Answers(answers) => Ok(answers),
            Reply::OtherPeriod(now) => {
                self.periods.heard(now);
                Err(RedisError::WindowOver)
            }
        }
    }

    fn encode(&self, part: &[Asked<'_>]) -> Encoded {
        Encoded::new(part, |quota| self.periods.around(quota))
    }

    fn send(&self, encoded: Encoded, cost: u32, deadline: Instant) -> Result<Receiver, RedisError> {
        if !self.up() {
            return Err(RedisError::Away);
        }
        let (reply, received) = oneshot::channel();
        let pending = batcher::PendingCheck { encoded, cost, deadline, reply: Some(reply) };
        self.queue.try_send(pending).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => RedisError::Overloaded,
            mpsc::error::TrySendError::Closed(_) => RedisError::Away,
        })?;
        Ok(received)
    }

    /// Forgets counters, as if they had never been used, and says how many there were.
    pub async fn reset(&self, counters: &[CounterName]) -> Result<u64, RedisError> {
        if counters.is_empty() {
            return Ok(0);
        }
        let forget = async {
            let mut connection = self.client.get_multiplexed_async_connection().await?;
            let mut both = redis::pipe();
            both.add_command(reset::call(counters));
            let subjects: BTreeSet<_> = counters.iter().map(|it| it.subject).collect();
            for subject in subjects {
                let said = format!("{RESET}{}", subject.to_hex());
                both.cmd("PUBLISH").arg(FORGET_CHANNEL).arg(said).ignore();
            }
            both.query_async::<(u64,)>(&mut connection).await
        };
        let forgotten = tokio::time::timeout(RESET_TIMEOUT, forget).await;
        let (count,) = forgotten.map_err(|_| RedisError::Timeout)??;
        Ok(count)
    }
}

/// The batcher replies by the deadline; it ends without a reply only when it is stopped.
async fn received(sent: Result<Receiver, RedisError>) -> Result<Reply, RedisError> {
    sent?.await.unwrap_or(Err(RedisError::Away))
}

#[cfg(test)]
mod tests;
