//! The deferred jobs of a tenant that could not be delivered. Redis holds them, as their gates wrote them.

use serde_json::Value;
use weir_domain::id::DeferredId;
use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_redis::deferred::ListedJob;
use weir_redis::error::RedisError;
use weir_wire::deferred::DeadLetter;

pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod read;
pub(crate) mod retry;

/// A dead letter in JSON.
fn dead_letter(job: ListedJob) -> DeadLetter {
    let ListedJob { id, job, state } = job;
    let message: Value = serde_json::from_str(&job.message).unwrap_or_default();
    let failed_ms = i64::try_from(state.failed_ms.unwrap_or_default()).unwrap_or(i64::MAX);
    DeadLetter {
        id: id.to_string(),
        namespace: job.namespace,
        attributes: job.attributes,
        cost: job.cost,
        target: job.target,
        payload: message.pointer("/data/payload").cloned().unwrap_or_default(),
        charged: state.charged,
        attempts: state.attempts,
        error: state.error.unwrap_or_default(),
        failed_at: Timestamp::from_millis(failed_ms).into(),
    }
}

fn parse(id: &str) -> Result<DeferredId, Problem> {
    id.parse().map_err(|_| Problem::not_found())
}

fn unavailable(error: RedisError) -> Problem {
    Problem::unavailable("Redis, which stores deferred jobs, is temporarily unavailable")
        .caused_by(error)
}
