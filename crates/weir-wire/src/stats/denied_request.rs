//! The denials of one request, with what explains them.

use serde::{Deserialize, Serialize};

use super::DenialEntry;
use crate::audit::Revision;
use crate::check::LimitAnswer;
use crate::subjects::SubjectOfRule;

/// The most denials of one request.
pub const OF_REQUEST_MAX: u32 = 20;
/// The most revisions of a rule since a denial.
pub const REVISIONS_SINCE_MAX: u32 = 20;

/// `GET /tenants/{tenant}/stats/denials/{request_id}`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeniedRequest {
    /// The `x-request-id` of the answer.
    pub request_id: String,
    /// The denied checks of the request that the log has, newest first; at most 20. A batch can have several.
    pub data: Vec<ExplainedDenial>,
}

/// A denied check, then and now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExplainedDenial {
    /// The entry of the log.
    pub denial: DenialEntry,
    /// The id of the trace, 32 hexadecimal digits; null if the request was not traced.
    pub trace_id: Option<String>,
    /// The revision of the rule that decided; null if the gate did not know it.
    pub rule_revision: Option<u64>,
    /// The limits of the rule as the check found them; empty if the rule denies without limits.
    pub limits: Vec<LimitAnswer>,
    /// The override that applied to the subject; null if there was none.
    pub override_id: Option<String>,
    /// The names of other rules that denied the check, at most 8.
    pub also_denied_by: Vec<String>,
    /// The present revision of the rule; null if the rule was deleted.
    pub present_revision: Option<u64>,
    /// The subject in the present rule, with its counters; null if it is not known.
    pub now: Option<SubjectOfRule>,
    /// The reason why `now` is null.
    pub now_unknown: Option<String>,
    /// The revisions of the rule since the denial, newest first; at most 20.
    pub revisions: Vec<Revision>,
}
