//! The limiter decides checks by Redis and never answers later than its budget.
//!
//! Checks are sent to Redis in batches (`batcher`): while one call is in flight the next checks are queued (`queue`), so
//! nothing waits for a timer and a busy gate makes few, large calls. A call blocks Redis for all clients, so its script
//! time is bounded (`cost`, `pace`) and shared fairly between tenants.
//!
//! Queue and batcher of one primary are a `link`. A single Redis has one link; a cluster has one for each primary
//! (`cluster_links`), and checks that it redirects are sent again (`sending`).

mod batcher;
mod call_times;
mod cluster_links;
mod connector;
mod cost;
mod deadline;
mod in_flight;
mod layout;
mod link;
mod links;
mod pace;
mod pending;
mod periods;
mod program;
mod queue;
mod redirect;
mod refusals;
mod reset;
mod script;
mod script_check;
mod script_reply;
mod sending;
mod settings;
mod source;
mod status;
mod stored;
mod timeouts;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use weir_domain::charge::RuleCharge;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::spread::SpreadKey;
use weir_domain::time::Micros;
use weir_trace::{RequestSpan, Traces};

pub use self::call_times::CallTimes;
pub(crate) use self::connector::probe_program;
use self::links::Links;
use self::pending::Reply;
use self::periods::Periods;
pub(crate) use self::program::missing;
use self::script::Encoded;
pub use self::script_check::{Answer, FirstAnswer, Idempotency, ScriptCheck};
use self::sending::Sender;
pub use self::settings::{DecidingClock, LimiterSettings};
pub use self::status::PrimaryHealth;
pub use self::stored::{WindowCounter, WindowUnits};
use crate::client::Client;
use crate::error::RedisError;
use crate::placement::Bucket;

/// Decides checks by Redis.
#[derive(Debug, Clone)]
pub struct Limiter {
    links: Links,
    periods: Arc<Periods>,
    budget: Duration,
    client: Client,
    clock: Option<DecidingClock>,
    traces: Option<Traces>,
}

/// How a caller waits for its checks.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallOptions<'a> {
    /// The longest wait for Redis, if it is shorter than the budget.
    pub wait_max: Option<Duration>,
    /// The span of the caller's request, if it is traced.
    pub span: Option<&'a RequestSpan>,
}

/// The state of Redis as the limiter sees it.
#[derive(Debug, Clone)]
pub struct RedisHealth {
    /// Whether Redis decides checks. Also false after a second in which Redis only refused, and in a cluster while one primary
    /// does not decide checks.
    pub up: bool,
    /// The number of times that Redis did not have the program.
    pub script_loads: u64,
    /// The primaries that serve buckets: one, or those of a cluster.
    pub primaries: Vec<PrimaryHealth>,
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
        let budget = settings.budget;
        let traces = settings.traces.clone();
        let clock = settings.clock.clone();
        let (links, task) = Links::new(client.clone(), settings);
        let limiter = Self { links, periods: Arc::default(), budget, client, clock, traces };
        (limiter, task.run(stop))
    }

    /// Whether Redis decides checks. Also false after a second in which Redis only refused, and in a cluster while one primary
    /// does not decide checks.
    pub fn up(&self) -> bool {
        self.links.up()
    }

    /// Starts the spans of requests. `None` if nothing is traced.
    pub fn traces(&self) -> Option<&Traces> {
        self.traces.as_ref()
    }

    /// The state of Redis as the limiter sees it.
    pub fn health(&self) -> RedisHealth {
        RedisHealth {
            up: self.up(),
            script_loads: self.links.script_loads(),
            primaries: self.links.primaries(),
        }
    }

    /// Decides checks in order and independently of one another; returns one result for each check.
    ///
    /// A batch is sent in parts, so that no call of the script takes long. When a part fails, only its checks have an error;
    /// the others are decided and stay charged. In a cluster, the parts of several buckets, and those that are redirected, are
    /// decided in any order.
    pub async fn check(&self, asked: &[ScriptCheck<'_>]) -> Vec<Result<Answer, RedisError>> {
        self.check_with(asked, CallOptions::default()).await
    }

    /// The same as [`Limiter::check`], for a caller with options.
    pub async fn check_with(
        &self,
        asked: &[ScriptCheck<'_>],
        CallOptions { wait_max, span }: CallOptions<'_>,
    ) -> Vec<Result<Answer, RedisError>> {
        let budget = wait_max.map_or(self.budget, |wait_max| wait_max.min(self.budget));
        let (links, deadline) = (&self.links, Instant::now() + budget);
        let encode = |part: &[ScriptCheck<'_>]| self.encode(part);
        let sender = Sender { links, deadline, span, encode };
        let mut results = Vec::with_capacity(asked.len());
        for (part, reply) in sender.send_all(asked).await {
            let Ok(Reply::OtherPeriod(now)) = reply else {
                push_answers(&mut results, part, reply);
                continue;
            };
            // The script compares periods before it reads or writes anything, so sending the checks again is safe.
            self.periods.redis_time(now);
            for (part, reply) in sender.send_all(part).await {
                if let Ok(Reply::OtherPeriod(now)) = reply {
                    self.periods.redis_time(now);
                }
                push_answers(&mut results, part, reply);
            }
        }
        results
    }

    /// Returns units that were taken before `ends`, unless Redis' clock is within a second of it: after `ends` they would
    /// be units of other callers. Returns one result for each check; [`RedisError::WindowOver`] means that it was too late.
    pub async fn give_back(
        &self,
        asked: &[ScriptCheck<'_>],
        ends: Micros,
    ) -> Vec<Result<(), RedisError>> {
        let (links, deadline) = (&self.links, Instant::now() + self.budget);
        let encode = |part: &[ScriptCheck<'_>]| self.encode(part).only_before(ends);
        let sender = Sender { links, deadline, span: None, encode };
        let mut results = Vec::with_capacity(asked.len());
        for (part, reply) in sender.send_all(asked).await {
            let result = match reply {
                Ok(Reply::Answers(_)) => Ok(()),
                Ok(Reply::OtherPeriod(_)) => Err(RedisError::WindowOver),
                Err(error) => Err(error),
            };
            results.extend(part.iter().map(|_| result.clone()));
        }
        results
    }

    fn encode(&self, part: &[ScriptCheck<'_>]) -> Encoded {
        Encoded::new(part, |quota| self.periods.around(quota))
    }

    /// Resets all counters of a rule for a subject, as if they had never been used. Returns the number that existed.
    pub async fn reset(
        &self,
        tenant: TenantId,
        namespace: &str,
        charge: &RuleCharge,
    ) -> Result<u64, RedisError> {
        let bucket = Bucket::of(tenant, namespace, charge.spread);
        reset::run(&self.client, tenant, (namespace, bucket), &charge.counters(tenant)).await
    }

    /// Returns the stored units of windows and quotas, those above a limit included, one result for each counter. Units of a window
    /// that ended are returned until the next charge, or until Redis deletes the counter: a second after the end, or later.
    pub async fn window_units(
        &self,
        tenant: TenantId,
        counters: &[WindowCounter<'_>],
    ) -> Result<Vec<Option<WindowUnits>>, RedisError> {
        let now = self.clock.as_ref().map(DecidingClock::now);
        stored::run(&self.client, tenant, counters, now).await
    }

    /// Replaces the recorded answer to the idempotency key of an admitted check, whose counters are not spread, by that of a
    /// denial that charged only these rules, alone. So a repeat is decided anew.
    pub async fn record_denial(
        &self,
        tenant: TenantId,
        namespace: &str,
        idempotency: &Idempotency,
        charged: &[RuleId],
    ) -> Result<(), RedisError> {
        let bucket = Bucket::of(tenant, namespace, SpreadKey::NONE);
        let place = (namespace, bucket);
        reset::record_denial(&self.client, tenant, place, idempotency, charged).await
    }
}

/// Adds one result for each check of a part.
fn push_answers(
    results: &mut Vec<Result<Answer, RedisError>>,
    part: &[ScriptCheck<'_>],
    reply: Result<Reply, RedisError>,
) {
    match reply {
        Ok(Reply::Answers(answers)) => results.extend(answers.into_iter().map(Ok)),
        Ok(Reply::OtherPeriod(_)) => {
            results.extend(part.iter().map(|_| Err(RedisError::WindowOver)));
        }
        Err(error) => results.extend(part.iter().map(|_| Err(error.clone()))),
    }
}

#[cfg(test)]
pub(crate) mod tests;
