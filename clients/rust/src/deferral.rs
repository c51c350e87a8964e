//! Deferred jobs: work that Weir delivers to a webhook when the limits permit it.

use std::fmt::Write as _;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::{Answer, count, read, read_answer};
use crate::client::Weir;
use crate::error::{Error, Kind};
use crate::request::CheckRequest;
use crate::transport::{Call, Reply};

/// A gate waits up to two seconds for the first delivery of a job.
const TIMEOUT: Duration = Duration::from_secs(5);
const TIMEOUT_MAX: Duration = Duration::from_secs(60);

/// A job that a webhook receives when the limits permit it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeferRequest {
    #[serde(flatten)]
    check: CheckRequest,
    target: String,
    payload: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_after_ms: Option<u64>,
    #[serde(skip)]
    timeout: Duration,
}

/// The result of [`Weir::defer`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deferral {
    /// `None` if nothing was stored, because the queue is full. Then repeat the call after `retry_after_ms` of the answer.
    pub job: Option<DeferredJob>,
    /// The decision that let the job pass at once, or the refusal of a full queue (`code` is `queue_full`); `None` if the job waits or was
    /// known.
    pub answer: Option<Answer>,
}

/// A job that a gate has stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeferredJob {
    /// By which [`Weir::deferred`] and [`Weir::cancel_deferred`] find it. Its messages have it as `webhook-id`.
    pub id: String,
    /// Its state.
    pub state: DeferredState,
    /// The place among the waiting jobs of the same subjects, from 1; 0 if it does not wait.
    pub position: u64,
    /// The end of its wait, in milliseconds since 1970, by the clock of the gates; `None` if [`Weir::defer`] delivered it.
    pub expires_at_ms: Option<u64>,
    /// Whether the limits admitted the job, which then is not charged again.
    pub charged: bool,
    /// The number of failed deliveries.
    pub attempts: u64,
    /// The reason of the last failure; `None` if there was none.
    pub error: Option<String>,
}

/// The state of a deferred job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeferredState {
    /// It waits for the limits, for its receiver, or for the end of a delivery.
    #[serde(rename = "waiting")]
    Queued,
    /// It was delivered.
    Delivered,
    /// It is a dead letter.
    Failed,
}

/// A job as a gate describes it.
#[derive(Deserialize)]
struct JobBody {
    deferred: String,
    state: DeferredState,
    #[serde(deserialize_with = "count")]
    position: u64,
    #[serde(deserialize_with = "count")]
    expires_at_ms: u64,
    charged: bool,
    #[serde(deserialize_with = "count")]
    attempts: u64,
    #[serde(deserialize_with = "Option::deserialize")]
    error: Option<String>,
}

/// The job in an answer to one that was delivered at once.
#[derive(Deserialize)]
struct Delivered {
    deferred: String,
}

impl DeferRequest {
    /// A job for the webhook with the id `target`, which receives `payload`: at most 32,768 bytes of JSON. The cost is that of the check; its
    /// `peek` is ignored. A repeat with the same key while a gate knows the job stores nothing and gets its state.
    pub fn new(
        check: CheckRequest,
        target: impl Into<String>,
        payload: impl Into<Value>,
        idempotency_key: impl Into<String>,
    ) -> Self {
        let mut check = check.idempotency_key(idempotency_key);
        check.peek = false;
        let (target, payload) = (target.into(), payload.into());
        Self { check, target, payload, not_after_ms: None, timeout: TIMEOUT }
    }

    /// The time for which the job can wait, from a second to 24 hours. The gate takes 24 hours if it is not given.
    #[must_use]
    pub fn not_after(mut self, longest: Duration) -> Self {
        self.not_after_ms = Some(u64::try_from(longest.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// The time for the call, at most a minute; 5 seconds if not given, because a gate waits up to two for the first delivery.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout.min(TIMEOUT_MAX);
        self
    }
}

impl Weir {
    /// Has a job delivered to a webhook: at once if the limits permit it, otherwise as soon as they do. Fails if no gate confirms it; repeat
    /// the call then, with the same key.
    pub async fn defer(&self, request: &DeferRequest) -> Result<Deferral, Error> {
        let transport = &self.shared.transport;
        // Repeatable: a gate stores the job of a key once.
        let call = Call { timeout: Some(request.timeout), ..Call::post("/defer", true) };
        let reply = transport.send(call, Some(request)).await?;
        match reply.status {
            202 => Ok(Deferral { job: Some(read_job(&reply.content)?), answer: None }),
            200 | 429 => read_deferral(&reply),
            status => Err(Error::problem(status, &reply.content)),
        }
    }

    /// The state of a deferred job; `None` if no gate knows it (any longer). Fails if no gate answers.
    pub async fn deferred(&self, id: &str) -> Result<Option<DeferredJob>, Error> {
        let Reply { status, content, .. } = self.ask(http::Method::GET, id).await?;
        if status == 200 {
            return read_job(&content).map(Some);
        }
        unless_not_found(Error::problem(status, &content), None)
    }

    /// Removes a deferred job that waits, or a dead letter. Returns false if there is no such job, or it was delivered. Fails if no gate
    /// confirms it.
    pub async fn cancel_deferred(&self, id: &str) -> Result<bool, Error> {
        let Reply { status, content, .. } = self.ask(http::Method::DELETE, id).await?;
        if status == 204 {
            return Ok(true);
        }
        unless_not_found(Error::problem(status, &content), false)
    }

    async fn ask(&self, method: http::Method, id: &str) -> Result<Reply, Error> {
        // A repeated removal would not tell what the first call did.
        let repeatable = method == http::Method::GET;
        let path = format!("/deferred/{}", encoded(id));
        let call = Call { method, path: &path, repeatable, timeout: None, traceparent: None };
        self.shared.transport.send(call, None::<&DeferRequest>).await
    }
}

/// `absent` if a gate, and not something before it, answered that there is no such lease or job; otherwise the error.
pub(crate) fn unless_not_found<T>(error: Error, absent: T) -> Result<T, Error> {
    let from_gate = error.code.as_deref() == Some("not_found");
    if error.kind == Kind::Status && error.status == Some(404) && from_gate {
        Ok(absent)
    } else {
        Err(error)
    }
}

fn read_deferral(reply: &Reply) -> Result<Deferral, Error> {
    let answer = read_answer(reply)?;
    if answer.allowed != (reply.status == 200) {
        return Err(Error::does_not_fit(reply.status));
    }
    if !answer.allowed {
        return Ok(Deferral { job: None, answer: Some(answer) });
    }
    let Delivered { deferred } = read(&reply.content)?;
    let job = DeferredJob {
        id: deferred,
        state: DeferredState::Delivered,
        position: 0,
        expires_at_ms: None,
        charged: true,
        attempts: 0,
        error: None,
    };
    Ok(Deferral { job: Some(job), answer: Some(answer) })
}

fn read_job(content: &[u8]) -> Result<DeferredJob, Error> {
    let body: JobBody = read(content)?;
    Ok(DeferredJob {
        id: body.deferred,
        state: body.state,
        position: body.position,
        expires_at_ms: Some(body.expires_at_ms),
        charged: body.charged,
        attempts: body.attempts,
        error: body.error,
    })
}

/// A text as a part of a path.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut path, byte| {
        if byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' {
            path.push(char::from(byte));
        } else {
            write!(path, "%{byte:02X}").expect("a string takes all");
        }
        path
    })
}
