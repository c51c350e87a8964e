//! `/defer` and `/deferred` in JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_domain::id::WebhookId;
use weir_domain::request::{Operation, Request, RequestDraft};

use crate::check::{CheckAnswer, attributes, default_namespace, one};
use crate::problem::FieldProblem;
use crate::time::DateTime;

/// The most bytes of a payload as JSON.
pub const PAYLOAD_BYTES_MAX: usize = 32 * 1024;
/// The shortest and the longest wait of a job, in milliseconds.
pub const NOT_AFTER_MS_MIN: u64 = 1_000;
pub const NOT_AFTER_MS_MAX: u64 = 86_400_000;

/// A job that is delivered when the limits permit it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DeferBody {
    /// The group of rules; default `default`.
    #[serde(default = "default_namespace")]
    pub namespace: String,
    /// The attributes of the check.
    #[serde(default, deserialize_with = "attributes")]
    pub attributes: BTreeMap<String, String>,
    /// The units that the job takes, 1 … 1,000,000,000; default 1.
    #[serde(default = "one")]
    pub cost: u64,
    /// The id of the tenant's webhook that receives the job.
    pub target: String,
    /// Any JSON value of at most 32,768 bytes, written without blanks. The webhook receives it in `data.payload`.
    pub payload: Value,
    /// The time for which the job can wait, 1,000 … 86,400,000; default 86,400,000. A job that could not be delivered by then
    /// becomes a dead letter.
    #[serde(default = "not_after_ms_max")]
    pub not_after_ms: u64,
    /// Identifies the job, in at most 128 bytes: a repeat while the job is known stores nothing.
    pub idempotency_key: String,
}

/// A checked [`DeferBody`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeferRequest {
    /// The check.
    pub request: Request,
    /// The receiver.
    pub target: WebhookId,
    /// The payload.
    pub payload: Value,
    /// The time for which the job can wait.
    pub lasts: Duration,
}

/// The answer to a job that passed at once and was delivered: that of a check, and the id of the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeferAnswer {
    /// The limits after the job.
    #[serde(flatten)]
    pub answer: CheckAnswer,
    /// The id of the job.
    pub deferred: String,
}

/// A deferred job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Deferred {
    /// The id of the job.
    pub deferred: String,
    /// The place among the waiting jobs of the same subject, from 1; 0 if the job does not wait.
    pub position: u64,
    /// Whether the job waits, was delivered, or is a dead letter.
    pub state: DeferredState,
    /// The end of the wait, in milliseconds since 1970.
    pub expires_at_ms: u64,
    /// Whether the limits admitted the job, which then is not charged again.
    pub charged: bool,
    /// The number of failed deliveries.
    pub attempts: u64,
    /// The reason of the last failure; null if there was none.
    pub error: Option<String>,
}

/// The state of a deferred job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeferredState {
    /// The job waits for the limits or for its receiver, or is being delivered.
    #[serde(rename = "waiting")]
    Queued,
    /// The job was delivered.
    Delivered,
    /// The job is a dead letter: it was not delivered in time.
    Failed,
}

impl DeferBody {
    /// Returns the checked fields, or all problems of them.
    pub fn parse(self) -> Result<DeferRequest, Vec<FieldProblem>> {
        let draft = RequestDraft {
            namespace: self.namespace,
            attributes: self.attributes,
            cost: self.cost,
            operation: Operation::Consume,
            idempotency_key: Some(self.idempotency_key),
        };
        let (request, mut wrong) = match Request::parse(draft).map_err(FieldProblem::list) {
            Ok(request) => (Some(request), Vec::new()),
            Err(wrong) => (None, wrong),
        };
        let target = self.target.parse::<WebhookId>();
        if let Err(error) = &target {
            wrong.push(FieldProblem::new("target", error.to_string()));
        }
        if self.payload.to_string().len() > PAYLOAD_BYTES_MAX {
            let reason = format!("must have at most {PAYLOAD_BYTES_MAX} bytes");
            wrong.push(FieldProblem::new("payload", reason));
        }
        if !(NOT_AFTER_MS_MIN..=NOT_AFTER_MS_MAX).contains(&self.not_after_ms) {
            let reason = format!("must be from {NOT_AFTER_MS_MIN} to {NOT_AFTER_MS_MAX}");
            wrong.push(FieldProblem::new("not_after_ms", reason));
        }
        match (request, target) {
            (Some(request), Ok(target)) if wrong.is_empty() => Ok(DeferRequest {
                request,
                target,
                payload: self.payload,
                lasts: Duration::from_millis(self.not_after_ms),
            }),
            _ => Err(wrong),
        }
    }
}

impl DeferredState {
    /// The state with this name.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "waiting" => Some(Self::Queued),
            "delivered" => Some(Self::Delivered),
            "failed" => Some(Self::Failed),
            _ => None,
        }
    }
}

const fn not_after_ms_max() -> u64 {
    NOT_AFTER_MS_MAX
}

/// The usage of a tenant's queue of deferred jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeferredUse {
    /// The number of waiting jobs.
    pub waiting: u64,
    /// The most jobs that can wait.
    pub waiting_max: u64,
    /// The bytes of waiting jobs.
    pub bytes: u64,
    /// The most bytes of waiting jobs.
    pub bytes_max: u64,
    /// The number of dead letters.
    pub failed: u64,
}

/// A dead letter: a deferred job that was not delivered in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeadLetter {
    /// The id of the job.
    pub id: String,
    /// The namespace of the check.
    pub namespace: String,
    /// The attributes of the check.
    pub attributes: BTreeMap<String, String>,
    /// The units that the job takes.
    pub cost: u64,
    /// The id of the webhook that did not receive the job.
    pub target: String,
    /// The payload.
    pub payload: Value,
    /// Whether the job was charged. It is not charged again.
    pub charged: bool,
    /// The number of failed deliveries.
    pub attempts: u64,
    /// The reason.
    pub error: String,
    /// The time at which the job failed.
    pub failed_at: DateTime,
}
