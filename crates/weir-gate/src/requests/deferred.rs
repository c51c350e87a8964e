//! The operations `/defer` and `/deferred`: work that is delivered to a webhook when the limits permit it.
//!
//! A job is stored first, and then checked. So a job that was charged is never lost: if this gate ends before it has sent the
//! job, another gate claims it, gets the same admission and sends it. `attempt` makes one attempt, `places` holds its
//! places in concurrency limits, `workers` takes jobs that are due, and `targets` knows the webhooks.

mod attempt;
mod deferral;
mod places;
mod targets;
mod usage;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use weir_domain::id::{DeferredId, TenantId};
use weir_domain::matching::LIMITS_PER_CHECK_MAX;
use weir_http::json::{Json, JsonText, JsonWithValue};
use weir_http::params::{NoQuery, Path};
use weir_http::problem::Problem;
use weir_redis::deferred::{DeferredJob, JobState, NewJob, Settled, Stored, WAITING_MAX};
use weir_redis::error::RedisError;
use weir_wire::check::{AnswerCode, CheckAnswer};
use weir_wire::deferred::{DeferAnswer, DeferBody, DeferRequest, Deferred, DeferredState};
use weir_wire::problem::FieldProblem;
use weir_wire::time::DateTime;

pub(crate) use self::deferral::Deferral;
pub use self::deferral::DeferralParts;
pub use self::workers::DeferredWorkers;
use self::workers::{attempt_now, wake};
use crate::decide::{TooManyLimits, order_of};
use crate::metrics::events::DeferredEvent;
use crate::requests::answer::fingerprint;
use crate::requests::caller::Caller;
use crate::requests::headers;
use crate::requests::refusals::Refusals;
use crate::requests::run_to_completion::RunToCompletion;
use crate::state::GateState;

/// The time for which the caller waits for the first attempt of its job.
const FIRST_ATTEMPT: Duration = Duration::from_secs(2);
/// The wait that a full queue asks for.
const FULL_RETRY_MS: u64 = 1_000;
/// The type of the message.
const MESSAGE_TYPE: &str = "deferred";

/// Deliver a job to a webhook now if the limits permit it, otherwise as soon as they do.
#[utoipa::path(
    post, path = "/defer", tag = "deferred jobs", operation_id = "defer",
    request_body = DeferBody, security(("api_key" = [])),
    responses(
        (status = 200, description = "Allowed and delivered", body = DeferAnswer),
        (status = 202, description = "Queued, or the job of this key was already stored", body = Deferred),
        (status = 429, description = "Not stored: the queue of the tenant is full (`code` is `queue_full`)", body = CheckAnswer),
        Refusals,
    )
)]
pub(crate) async fn defer(
    State(state): State<GateState>,
    caller: Caller,
    _: NoQuery,
    JsonWithValue(body): JsonWithValue<DeferBody>,
) -> Result<Response, Problem> {
    let deferred = body.parse().map_err(Problem::invalid)?;
    let deferral = deferral(&state)?;
    RunToCompletion::new(async move { store(&state, &deferral, &caller, deferred).await }).await
}

/// Report a deferred job.
#[utoipa::path(
    get, path = "/deferred/{deferred}", tag = "deferred jobs", operation_id = "read_deferred",
    params(("deferred" = String, Path, description = "The id of the job")), security(("api_key" = [])),
    responses(
        (status = 200, description = "The job. A delivered job is known for ten minutes, and a dead letter for a week", body = Deferred),
        (status = 404, description = "Unknown job", body = weir_wire::problem::ProblemBody, content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(crate) async fn read(
    State(state): State<GateState>,
    caller: Caller,
    _: NoQuery,
    Path(id): Path<String>,
) -> Result<Json<Deferred>, Problem> {
    let id: DeferredId = id.parse().map_err(|_| Problem::not_found())?;
    let found = deferral(&state)?.jobs.find(caller.tenant, id).await.map_err(unavailable)?;
    let found = found.ok_or_else(Problem::not_found)?;
    Ok(Json(described(id, &found.state, found.position)))
}

/// Remove a job that waits, or a dead letter.
#[utoipa::path(
    delete, path = "/deferred/{deferred}", tag = "deferred jobs", operation_id = "cancel_deferred",
    params(("deferred" = String, Path, description = "The id of the job")), security(("api_key" = [])),
    responses(
        (status = 204, description = "The job is removed. A delivery that is under way can still arrive"),
        (status = 404, description = "Unknown job, or it was already delivered", body = weir_wire::problem::ProblemBody, content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(crate) async fn cancel(
    State(state): State<GateState>,
    caller: Caller,
    _: NoQuery,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let id: DeferredId = id.parse().map_err(|_| Problem::not_found())?;
    let deferral = deferral(&state)?;
    if !deferral.jobs.cancel(caller.tenant, id).await.map_err(unavailable)? {
        return Err(Problem::not_found());
    }
    // The next job of its order can be due now.
    wake(&state, &deferral, caller.tenant);
    state.meters.deferred.count(DeferredEvent::Cancelled, 1);
    Ok(StatusCode::NO_CONTENT)
}

/// Stores a job, and attempts it at once if no other job of its order waits.
async fn store(
    state: &GateState,
    deferral: &Arc<Deferral>,
    caller: &Caller,
    deferred: DeferRequest,
) -> Result<Response, Problem> {
    let known = deferral.targets.find(caller.tenant, deferred.target).await;
    let known = known.map_err(|_| {
        Problem::unavailable(
            "the webhooks of the tenant are temporarily unavailable; nothing was stored",
        )
    })?;
    if known.is_none() {
        return Err(Problem::invalid_field("target", "is not a webhook of the tenant"));
    }
    let order = order_of(state, caller, &deferred.request).await;
    let order = order.map_err(|TooManyLimits(_)| {
        let reason = format!(
            "has rules that match this request with more than {LIMITS_PER_CHECK_MAX} limits, the most that one check can match"
        );
        Problem::invalid(vec![FieldProblem::new("namespace", reason)])
    })?;
    let id = id_of(caller.tenant, deferred.request.idempotency_key().unwrap_or_default());
    let job = job(caller, id, &deferred);
    let new = NewJob {
        id,
        order,
        fingerprint: &job_fingerprint(&deferred),
        job: &job,
        lasts: deferred.lasts,
    };
    match deferral.jobs.put(caller.tenant, &new).await.map_err(not_confirmed)? {
        Stored::Reused | Stored::Unknown => Err(Problem::invalid_field(
            "idempotency_key",
            "was used for another job that is still known",
        )),
        Stored::Full => Ok(full(caller)),
        Stored::Known { state, position } => Ok(accepted(described(id, &state, position))),
        Stored::Stored { state: job_state, position, claim } => {
            state.meters.deferred.count(DeferredEvent::Stored, 1);
            let waiting = described(id, &job_state, position);
            let Some(claim) = claim else {
                wake(state, deferral, caller.tenant);
                return Ok(accepted(waiting));
            };
            let taken = deferral.first(id, job, job_state, claim);
            let attempting = attempt_now(state, deferral, caller.tenant, taken);
            match tokio::time::timeout(FIRST_ATTEMPT, attempting).await {
                Ok(Some((Settled::Delivered, Some(answer)))) => {
                    let body = DeferAnswer { answer, deferred: id.to_string() };
                    let mut response = Json(&body).into_response();
                    headers::add(&body.answer, response.headers_mut());
                    Ok(response)
                }
                _ => Ok(accepted(waiting)),
            }
        }
    }
}

/// The deferral of this gate.
fn deferral(state: &GateState) -> Result<Arc<Deferral>, Problem> {
    state.deferral.get().cloned().ok_or_else(|| {
        Problem::unavailable("this gate does not accept deferred jobs: WEIR_WEBHOOK_KEY is not set")
    })
}

/// The id of a job follows from its tenant and idempotency key, so a repeat finds the job.
fn id_of(tenant: TenantId, idempotency_key: &str) -> DeferredId {
    let mut digest = Sha256::new();
    digest.update(tenant.to_u128().to_be_bytes());
    digest.update(idempotency_key);
    let digest: [u8; 32] = digest.finalize().into();
    let (half, _) = digest.split_first_chunk().expect("a digest has 32 bytes");
    DeferredId::from_u128(u128::from_be_bytes(*half))
}

/// Distinguishes jobs with the same idempotency key.
fn job_fingerprint(deferred: &DeferRequest) -> String {
    let mut digest = Sha256::new();
    digest.update(fingerprint(&deferred.request));
    digest.update(format!(" {} {} ", deferred.target, deferred.lasts.as_millis()));
    digest.update(deferred.payload.to_string());
    let digest: [u8; 32] = digest.finalize().into();
    let (half, _) = digest.split_first_chunk().expect("a digest has 32 bytes");
    format!("{:032x}", u128::from_be_bytes(*half))
}

fn job(caller: &Caller, id: DeferredId, deferred: &DeferRequest) -> DeferredJob {
    let request = &deferred.request;
    let message = json!({
        "type": MESSAGE_TYPE,
        "timestamp": DateTime(caller.at),
        "tenant_id": caller.tenant.to_string(),
        "data": {
            "deferred": id.to_string(),
            "namespace": request.namespace(),
            "attributes": request.attributes(),
            "payload": deferred.payload,
        },
    });
    DeferredJob {
        namespace: request.namespace().to_owned(),
        attributes: request.attributes().clone(),
        cost: request.cost(),
        target: deferred.target.to_string(),
        key: caller.key.to_string(),
        message: message.to_string(),
    }
}

fn described(id: DeferredId, state: &JobState, position: u64) -> Deferred {
    Deferred {
        deferred: id.to_string(),
        position,
        state: DeferredState::parse(&state.state).unwrap_or(DeferredState::Queued),
        expires_at_ms: state.ends_ms,
        charged: state.charged,
        attempts: state.attempts,
        error: state.error.clone(),
    }
}

fn accepted(job: Deferred) -> Response {
    (StatusCode::ACCEPTED, Json(job)).into_response()
}

/// The answer while the queue is full.
fn full(caller: &Caller) -> Response {
    let answer = CheckAnswer {
        allowed: false,
        denied_by: Vec::new(),
        retry_after_ms: Some(FULL_RETRY_MS),
        cache_for_ms: 0,
        delay_ms: 0,
        limit: Some(WAITING_MAX),
        remaining: Some(0),
        reset_after_ms: Some(FULL_RETRY_MS),
        limits: Vec::new(),
        over: Vec::new(),
        leases: Vec::new(),
        charge: None,
        degraded: None,
        rulebook_version: caller.book.version(),
        code: Some(AnswerCode::QueueFull),
    };
    let mut response = (StatusCode::TOO_MANY_REQUESTS, JsonText(answer.to_json())).into_response();
    headers::add(&answer, response.headers_mut());
    response
}

fn unavailable(error: RedisError) -> Problem {
    Problem::unavailable("Redis, which stores deferred jobs, is temporarily unavailable")
        .caused_by(error)
}

/// The job was possibly stored.
fn not_confirmed(error: RedisError) -> Problem {
    let detail = "Redis, which holds deferred jobs, did not confirm this one; repeat the call with the same `idempotency_key`";
    Problem::unavailable(detail).caused_by(error)
}
