//! The limiter decides checks by Redis and never answers later than its budget.
//!
//! Checks are sent to Redis in batches (`batcher`): while one call is in flight the next checks are queued (`queue`), so
//! nothing waits for a timer and a busy gate makes few, large calls. A call blocks Redis for all clients, so its script
//! time is bounded (`cost`, `pace`) and shared fairly between tenants.

mod asked;
mod batcher;
mod connector;
mod cost;
mod deadline;
mod in_flight;
mod pace;
mod pending;
mod periods;
mod program;
mod queue;
mod refusals;
mod reset;
mod script;
mod settings;
mod source;
mod status;
mod timeouts;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use weir_domain::counter::CounterName;
use weir_domain::id::TenantId;
use weir_domain::time::Micros;

pub use self::asked::{Answer, Asked, Idempotency};
use self::batcher::Batcher;
pub(crate) use self::connector::probe_programs;
use self::pending::{PendingCheck, Reply};
use self::periods::Periods;
use self::queue::FairQueue;
use self::script::Encoded;
pub use self::settings::{DecidingClock, LimiterSettings};
use self::status::Status;
use crate::client::Client;
use crate::error::RedisError;
use crate::keys::{INVALIDATION_CHANNEL, RESET};

/// Decides checks by Redis.
#[derive(Debug, Clone)]
pub struct Limiter {
    queue: Arc<OpenQueue>,
    status: Arc<Status>,
    periods: Arc<Periods>,
    budget: Duration,
    client: Client,
}

/// The queue, which is open until the last handle is dropped.
#[derive(Debug)]
struct OpenQueue(Arc<FairQueue>);

/// The state of Redis as the limiter sees it.
#[derive(Debug, Clone, Copy)]
pub struct RedisHealth {
    /// Whether Redis decides checks. Also false after a second in which Redis only refused.
    pub up: bool,
    /// Whether Redis runs the limiter's program as a function, instead of a script.
    pub functions: bool,
    /// The number of times that Redis did not have the program.
    pub script_loads: u64,
}

type Receiver = oneshot::Receiver<Result<Reply, RedisError>>;

const RESET_TIMEOUT: Duration = Duration::from_secs(1);

impl Drop for OpenQueue {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Limiter {
    /// Starts the task that calls Redis. The task ends with `stop`, or when the last handle is dropped.
    pub fn start(client: Client, settings: LimiterSettings, stop: CancellationToken) -> Self {
        let (limiter, task) = Self::new(client, settings, stop);
        tokio::spawn(task);
        limiter
    }

    /// Creates a limiter and the task that calls Redis for it. The task ends with `stop`, or when the last handle is
    /// dropped.
    pub fn new(
        client: Client,
        settings: LimiterSettings,
        stop: CancellationToken,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (queue, status) = (Arc::<FairQueue>::default(), Arc::<Status>::default());
        let budget = settings.budget;
        let batcher =
            Batcher::new(client.clone(), settings, Arc::clone(&queue), Arc::clone(&status));
        let queue = Arc::new(OpenQueue(queue));
        let limiter = Self { queue, status, periods: Arc::default(), budget, client };
        (limiter, batcher.run(stop))
    }

    /// Whether Redis decides checks. Also false after a second in which Redis only refused.
    pub fn up(&self) -> bool {
        self.status.up()
    }

    /// The state of Redis as the limiter sees it.
    pub fn health(&self) -> RedisHealth {
        RedisHealth {
            up: self.up(),
            functions: self.status.functions(),
            script_loads: self.status.script_loads(),
        }
    }

    /// Decides checks in order and independently of one another; returns one result for each check.
    ///
    /// A batch is sent in parts, so that no call of the script takes long. When a part fails, only its checks have an error;
    /// the parts before it were decided and stay charged.
    pub async fn check(&self, asked: &[Asked<'_>]) -> Vec<Result<Answer, RedisError>> {
        let deadline = Instant::now() + self.budget;
        let send = |part| (part, self.send(part, self.encode(part), deadline));
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

    /// Returns units that were taken before `ends`, unless Redis' clock is within a second of it: after `ends` they would
    /// be units of other callers. Returns one result for each check; [`RedisError::WindowOver`] means that it was too late.
    pub async fn give_back(
        &self,
        asked: &[Asked<'_>],
        ends: Micros,
    ) -> Vec<Result<(), RedisError>> {
        let deadline = Instant::now() + self.budget;
        let send = |part| {
            let encoded = self.encode(part).only_before(ends);
            (part, self.send(part, encoded, deadline))
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

    /// Receives the answers to a part of a batch.
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
        self.periods.redis_time(now);
        match received(self.send(part, self.encode(part), deadline)).await? {
            Reply::Answers(answers) => Ok(answers),
            Reply::OtherPeriod(now) => {
                self.periods.redis_time(now);
                Err(RedisError::WindowOver)
            }
        }
    }

    fn encode(&self, part: &[Asked<'_>]) -> Encoded {
        Encoded::new(part, |quota| self.periods.around(quota))
    }

    /// Queues a part of a batch. All its checks are of one namespace.
    fn send(
        &self,
        part: &[Asked<'_>],
        encoded: Encoded,
        deadline: Instant,
    ) -> Result<Receiver, RedisError> {
        let Some(first) = part.first() else { return Err(RedisError::BadReply("no checks")) };
        let (reply, received) = oneshot::channel();
        let (checks, cost) = (part.len(), cost::of(part));
        let pending = PendingCheck { encoded, checks, cost, deadline, reply: Some(reply) };
        self.queue.0.push(first.tenant, pending)?;
        Ok(received)
    }

    /// Resets counters of a namespace, as if they had never been used. Returns the number that existed.
    pub async fn reset(
        &self,
        tenant: TenantId,
        namespace: &str,
        counters: &[CounterName],
    ) -> Result<u64, RedisError> {
        if counters.is_empty() {
            return Ok(0);
        }
        let reset = async {
            let (mut connection, _) = self.client.connect(RESET_TIMEOUT).await?;
            let mut both = redis::pipe();
            both.atomic();
            both.add_command(reset::call(tenant, namespace, counters));
            let subjects: BTreeSet<_> = counters.iter().map(|counter| counter.subject).collect();
            for subject in subjects {
                let message = format!("{RESET}{}", subject.to_hex());
                both.cmd("PUBLISH").arg(INVALIDATION_CHANNEL).arg(message).ignore();
            }
            Ok::<_, RedisError>(both.query_async::<(u64,)>(&mut connection).await?)
        };
        let reset = tokio::time::timeout(RESET_TIMEOUT, reset).await;
        let (count,) = reset.map_err(|_| RedisError::Timeout)??;
        Ok(count)
    }
}

/// Receives the reply. The batcher replies by the deadline; it ends without a reply only when it is stopped.
async fn received(sent: Result<Receiver, RedisError>) -> Result<Reply, RedisError> {
    sent?.await.unwrap_or(Err(RedisError::Away))
}

#[cfg(test)]
pub(crate) mod tests;
