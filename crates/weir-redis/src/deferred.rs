//! The queues of deferred jobs: one of each tenant, in Redis.
//!
//! Jobs of one order are attempted one after the other, in the order of their arrival. A gate claims the first job of an order
//! for a time that exceeds an attempt. If the gate ends meanwhile, another one claims the job. The script in `deferred/queue`
//! makes each change of a queue in one call.
//!
//! The structure is not a stream: a stream delivers its next entry to any consumer, so it keeps no order of a subject, has no
//! time of the next attempt, and finds no entry by id.

mod connections;
mod job;

use std::time::Duration;

use redis::Script;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use weir_domain::id::{DeferredId, TenantId};
use weir_domain::spread::SpreadKey;

use self::connections::Connections;
pub use self::job::{
    DeferredJob, FoundJob, JobState, ListedJob, NewJob, QueueUse, Stored, TakenJob,
};
use crate::client::Client;
use crate::error::RedisError;
use crate::keys;
use crate::placement::Bucket;

/// The most waiting jobs of a tenant.
pub const WAITING_MAX: u64 = 20_000;
/// The most bytes of the waiting jobs of a tenant.
pub const WAITING_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The most dead letters of a tenant. Beyond it, the oldest ones are removed.
pub const FAILED_MAX: u64 = 1_000;
/// The time for which a gate owns a job that it attempts. It exceeds the time of an attempt.
pub const CLAIM: Duration = Duration::from_secs(15);

/// The queues of all tenants.
#[derive(Debug)]
pub struct DeferredJobs {
    connections: Connections,
    script: Script,
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// The job was charged and delivered.
    Delivered,
    /// The job is over without a delivery, for this reason: it becomes a dead letter.
    Failed(String),
    /// The limits denied the job. It is attempted again after this time.
    Denied(Duration),
    /// No limit was decided. The job is attempted again after this time.
    Undecided(Duration),
    /// The job was charged. It is delivered after this time.
    Charged(Duration),
    /// The job was charged and not delivered, for this reason. It is delivered again after this time.
    Undelivered(Duration, String),
}

/// Jobs that this gate owns until their claims end, and the time until the next job is due.
#[derive(Debug, Default)]
pub struct Taken {
    /// The first jobs of orders that were due.
    pub jobs: Vec<TakenJob>,
    /// The time until the next job is due; `None` if none waits.
    pub next: Option<Duration>,
}

/// The reply to an operation that changes a job or does not.
#[derive(Deserialize)]
struct Done {
    settled: bool,
}

#[derive(Deserialize)]
struct TakenReply {
    next_ms: Option<u64>,
    #[serde(default)]
    jobs: Vec<TakenJob>,
}

/// The files of the script, in the order in which they run.
const FILES: [&str; 4] = [
    include_str!("deferred/queue/jobs.lua"),
    include_str!("deferred/queue/orders.lua"),
    include_str!("deferred/queue/attempts.lua"),
    include_str!("deferred/queue/main.lua"),
];
const PARTS: [&str; 6] = ["due", "waiting", "jobs", "states", "ended", "failed"];

impl DeferredJobs {
    /// The queues in this Redis. Nothing is connected until they are used.
    #[expect(clippy::disallowed_methods, reason = "no check runs it, so it is not the limiter's")]
    pub fn new(client: Client) -> Self {
        Self { connections: Connections::new(client), script: Script::new(&program()) }
    }

    /// Stores a job. A job with the same id is left as it is.
    pub async fn put(&self, tenant: TenantId, new: &NewJob<'_>) -> Result<Stored, RedisError> {
        let job = serde_json::to_string(new.job).expect("a job is plain data");
        let arguments = [
            hex(new.id),
            format!("{:032x}", new.order),
            new.fingerprint.to_owned(),
            job,
            millis(new.lasts),
            millis(CLAIM),
            WAITING_MAX.to_string(),
            WAITING_BYTES_MAX.to_string(),
        ];
        self.run(tenant, "put", &arguments).await
    }

    /// Claims up to `most` jobs that are due.
    pub async fn take(&self, tenant: TenantId, most: usize) -> Result<Taken, RedisError> {
        let arguments = [most.to_string(), millis(CLAIM)];
        let TakenReply { next_ms, jobs } = self.run(tenant, "take", &arguments).await?;
        Ok(Taken { jobs, next: next_ms.map(Duration::from_millis) })
    }

    /// Ends a claim with the result of the attempt. `false` if the claim was over: another gate possibly owns the job.
    pub async fn settle(
        &self,
        tenant: TenantId,
        (id, order, claim): (DeferredId, &str, u64),
        settled: &Settled,
    ) -> Result<bool, RedisError> {
        let (outcome, wait, reason) = match settled {
            Settled::Delivered => ("delivered", Duration::ZERO, ""),
            Settled::Failed(reason) => ("failed", Duration::ZERO, reason.as_str()),
            Settled::Denied(wait) => ("denied", *wait, ""),
            Settled::Undecided(wait) => ("undecided", *wait, ""),
            Settled::Charged(wait) => ("charged", *wait, ""),
            Settled::Undelivered(wait, reason) => ("undelivered", *wait, reason.as_str()),
        };
        let (order, reason) = (order.to_owned(), reason.to_owned());
        let arguments =
            [hex(id), order, claim.to_string(), outcome.to_owned(), millis(wait), reason];
        let Done { settled } = self.run(tenant, "settle", &arguments).await?;
        Ok(settled)
    }

    /// The state of a job and its place, if it exists.
    pub async fn find(
        &self,
        tenant: TenantId,
        id: DeferredId,
    ) -> Result<Option<FoundJob>, RedisError> {
        #[derive(Deserialize)]
        struct Found {
            state: Option<JobState>,
            #[serde(default)]
            position: u64,
        }
        let Found { state, position } = self.run(tenant, "find", &[hex(id)]).await?;
        Ok(state.map(|state| FoundJob { state, position }))
    }

    /// Removes a job that waits or has failed. `false` if there is none.
    pub async fn cancel(&self, tenant: TenantId, id: DeferredId) -> Result<bool, RedisError> {
        let Done { settled } = self.run(tenant, "cancel", &[hex(id)]).await?;
        Ok(settled)
    }

    /// Removes a dead letter. `false` if there is none with this id.
    pub async fn remove_failed(
        &self,
        tenant: TenantId,
        id: DeferredId,
    ) -> Result<bool, RedisError> {
        let arguments = [hex(id), "failed".to_owned()];
        let Done { settled } = self.run(tenant, "cancel", &arguments).await?;
        Ok(settled)
    }

    /// Lets a dead letter wait again, for as long as at first. `None` if there is none with this id.
    pub async fn retry(
        &self,
        tenant: TenantId,
        id: DeferredId,
    ) -> Result<Option<Stored>, RedisError> {
        let arguments = [hex(id), WAITING_MAX.to_string(), WAITING_BYTES_MAX.to_string()];
        let stored: Stored = self.run(tenant, "again", &arguments).await?;
        Ok(Some(stored).filter(|stored| !matches!(stored, Stored::Unknown)))
    }

    /// Up to `most` dead letters, the newest first, beginning behind `after`; and the use of the queue.
    pub async fn failed(
        &self,
        tenant: TenantId,
        after: Option<DeferredId>,
        most: usize,
    ) -> Result<(Vec<ListedJob>, QueueUse), RedisError> {
        #[derive(Deserialize)]
        struct Listed {
            #[serde(default)]
            jobs: Vec<ListedJob>,
            #[serde(flatten)]
            usage: QueueUse,
        }
        let arguments = [after.map(hex).unwrap_or_default(), most.to_string()];
        let Listed { jobs, usage } = self.run(tenant, "list", &arguments).await?;
        Ok((jobs, usage))
    }

    /// The use of a tenant's queue.
    pub async fn usage(&self, tenant: TenantId) -> Result<QueueUse, RedisError> {
        self.run(tenant, "usage", &[]).await
    }

    /// Up to 1,000 tenants of each bucket that have jobs, also dead letters.
    pub async fn tenants_with_jobs(&self) -> Result<Vec<TenantId>, RedisError> {
        let each = Bucket::all().map(|bucket| self.tenants_until(bucket, "+inf"));
        let found = futures_util::future::try_join_all(each).await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// The tenants with jobs that are due within `ahead`, by Redis' clock. A bucket whose primary is away has none.
    pub async fn due_tenants(&self, ahead: Duration) -> Vec<TenantId> {
        let each = Bucket::all().map(|bucket| self.due_tenants_of(bucket, ahead));
        let found = futures_util::future::join_all(each).await;
        found.into_iter().filter_map(Result::ok).flatten().collect()
    }

    async fn due_tenants_of(
        &self,
        bucket: Bucket,
        ahead: Duration,
    ) -> Result<Vec<TenantId>, RedisError> {
        let mut connection = self.connections.get(bucket).await?;
        let now: redis::RedisResult<(u64, u64)> =
            redis::cmd("TIME").query_async(&mut connection).await;
        let (seconds, micros) = self.connections.checked(bucket, now).await?;
        let until = seconds * 1000 + micros / 1000 + u64::try_from(ahead.as_millis()).unwrap_or(0);
        self.tenants_until(bucket, &until.to_string()).await
    }

    /// The first tenants of a bucket by the time of their next attempt. That of tenants with dead letters alone is infinite.
    async fn tenants_until(
        &self,
        bucket: Bucket,
        until: &str,
    ) -> Result<Vec<TenantId>, RedisError> {
        const MOST: usize = 1_000;
        let mut connection = self.connections.get(bucket).await?;
        let mut range = redis::cmd("ZRANGE");
        range.arg(keys::deferring_tenants(bucket)).arg("-inf").arg(until).arg("BYSCORE");
        range.arg("LIMIT").arg(0).arg(MOST);
        let found: redis::RedisResult<Vec<String>> = range.query_async(&mut connection).await;
        let found = self.connections.checked(bucket, found).await?;
        Ok(found.iter().filter_map(|text| text.parse().ok()).collect())
    }

    async fn run<T: DeserializeOwned>(
        &self,
        tenant: TenantId,
        operation: &str,
        arguments: &[String],
    ) -> Result<T, RedisError> {
        let (bucket, text) = (Bucket::of(tenant, "", SpreadKey::NONE), tenant.to_string());
        let mut call = self.script.prepare_invoke();
        for part in PARTS {
            call.key(keys::deferred(bucket, &text, part));
        }
        call.key(keys::deferring_tenants(bucket));
        call.arg(operation).arg(text);
        for argument in arguments {
            call.arg(argument);
        }
        let mut connection = self.connections.get(bucket).await?;
        let reply: redis::RedisResult<String> = call.invoke_async(&mut connection).await;
        let reply = self.connections.checked(bucket, reply).await?;
        serde_json::from_str(&reply).map_err(|_| RedisError::BadReply("a job that cannot be read"))
    }
}

/// Joins the files: each is the body of a function of the table `queue`, and the last one has the reply.
fn program() -> String {
    let calls = FILES.map(|file| format!("(function(...)\n{file}end)(queue)\n"));
    let [jobs, orders, attempts, main] = calls;
    format!("local queue = {{}}\n;{jobs};{orders};{attempts};return {main}")
}

fn hex(id: DeferredId) -> String {
    format!("{:032x}", id.to_u128())
}

fn millis(duration: Duration) -> String {
    duration.as_millis().to_string()
}

#[cfg(test)]
mod tests;
