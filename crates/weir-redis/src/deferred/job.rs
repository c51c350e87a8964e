//! Deferred jobs, as Redis stores them.

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};
use weir_domain::id::DeferredId;

/// The part of a job that never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeferredJob {
    /// The namespace of the check.
    pub namespace: String,
    /// The attributes of the check.
    pub attributes: BTreeMap<String, String>,
    /// The units that the job takes.
    pub cost: u64,
    /// The id of the webhook that receives the job.
    pub target: String,
    /// The id of the API key that deferred the job, for the statistics.
    pub key: String,
    /// The message, in JSON, as it is signed.
    pub message: String,
}

/// A job to be stored.
#[derive(Debug, Clone, Copy)]
pub struct NewJob<'a> {
    /// The job's id.
    pub id: DeferredId,
    /// Jobs with the same order are attempted one after the other.
    pub order: u128,
    /// Distinguishes jobs that use the same idempotency key.
    pub fingerprint: &'a str,
    /// The job.
    pub job: &'a DeferredJob,
    /// The time for which the job can wait.
    pub lasts: Duration,
}

/// The part of a job that changes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct JobState {
    /// `waiting`, `delivered` or `failed`.
    pub state: String,
    /// Jobs with the same order are attempted one after the other.
    pub order: String,
    /// The end of the wait, in milliseconds since 1970 by Redis' clock.
    pub ends_ms: u64,
    /// The number of checks that denied the job.
    pub denials: u64,
    /// The number of failed deliveries.
    pub attempts: u64,
    /// Whether the job was charged.
    pub charged: bool,
    /// The reason of the last failure.
    pub error: Option<String>,
    /// The time at which the job failed, in milliseconds since 1970 by Redis' clock.
    pub failed_ms: Option<u64>,
}

/// The result of storing a job.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Stored {
    /// The job waits. If the reply has a claim, the caller attempts the job.
    Stored {
        /// The state of the job.
        state: JobState,
        /// The place among the jobs of its order, from 1.
        position: u64,
        /// Identifies the claim of the caller.
        claim: Option<u64>,
    },
    /// The same job was stored before.
    Known {
        /// The state of the job.
        state: JobState,
        /// The place among the jobs of its order, from 1; 0 if the job does not wait.
        position: u64,
    },
    /// The idempotency key was used for another job.
    Reused,
    /// The tenant has as many jobs or bytes as it can have.
    Full,
    /// There is no dead letter with this id.
    Unknown,
}

/// A job, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundJob {
    /// The state of the job.
    pub state: JobState,
    /// The place among the jobs of its order, from 1; 0 if the job does not wait.
    pub position: u64,
}

/// A job that this gate owns.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TakenJob {
    /// The job's id.
    #[serde(deserialize_with = "id")]
    pub id: DeferredId,
    /// The job.
    #[serde(deserialize_with = "job")]
    pub job: DeferredJob,
    /// Its state.
    pub state: JobState,
    /// Identifies the claim.
    pub claim: u64,
    /// The time of the claim, in milliseconds since 1970 by Redis' clock.
    pub now_ms: u64,
}

/// A dead letter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ListedJob {
    /// The job's id.
    #[serde(deserialize_with = "id")]
    pub id: DeferredId,
    /// The job.
    #[serde(deserialize_with = "job")]
    pub job: DeferredJob,
    /// Its state.
    pub state: JobState,
}

/// The use of a tenant's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub struct QueueUse {
    /// The number of waiting jobs.
    pub waiting: u64,
    /// The bytes of waiting jobs.
    pub bytes: u64,
    /// The number of dead letters.
    pub failed: u64,
}

impl AddAssign for QueueUse {
    fn add_assign(&mut self, other: Self) {
        self.waiting += other.waiting;
        self.bytes += other.bytes;
        self.failed += other.failed;
    }
}

fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DeferredId, D::Error> {
    let text = String::deserialize(deserializer)?;
    u128::from_str_radix(&text, 16).map(DeferredId::from_u128).map_err(serde::de::Error::custom)
}

/// Redis stores the job as text.
fn job<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DeferredJob, D::Error> {
    let text = String::deserialize(deserializer)?;
    serde_json::from_str(&text).map_err(serde::de::Error::custom)
}
