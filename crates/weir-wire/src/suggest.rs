//! Suggested limits in JSON: the smallest limit of a new rule that would have denied few subjects.

use serde::{Deserialize, Serialize};

use crate::counted::CountedBody;
use crate::limits::{AlgorithmName, LimitBody};
use crate::rules::ConditionBody;
use crate::time::DateTime;

/// The greatest share of subjects that a suggestion can deny.
pub const SHARE_DENIED_MAX: f64 = 0.5;
/// The most candidates of an answer.
pub const CANDIDATES_MAX: usize = 12;

/// `POST /tenants/{tenant}/rules/suggest`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SuggestBody {
    /// The namespace of the recorded checks.
    pub namespace: String,
    /// The conditions of the rule, as in a rule.
    #[serde(default, rename = "match")]
    pub conditions: Vec<ConditionBody>,
    /// The attributes that the rule counts by: one to eight.
    pub count_by: Vec<CountedBody>,
    /// The algorithm: `fixed_window`, `sliding_window_log`, `sliding_window_counter`, `token_bucket` or `leaky_bucket`. The
    /// capacity of a bucket is the limit, and it refills or drains once in each window.
    pub algorithm: AlgorithmName,
    /// The length of the window.
    pub window_ms: u64,
    /// The greatest share of subjects that the limit can deny at least once: 0 to 0.5; default 0.01.
    #[serde(default = "one_percent")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 0.5, default = 0.01))]
    pub share_denied: f64,
    /// The start; default: an hour before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<DateTime>,
    /// The end; default: now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<DateTime>,
}

/// A suggested limit. A subject needs a limit if any smaller one would have denied one of its checks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SuggestAnswer {
    /// The start.
    pub from: DateTime,
    /// The end.
    pub to: DateTime,
    /// The smallest limit that denies at most the requested share of the subjects.
    pub limit: u64,
    /// The limit as a part of a rule.
    pub body: LimitBody,
    /// The lower bound of the limit for all subjects, with 95 % confidence.
    pub low: u64,
    /// The upper bound; null if the sample of subjects is too small for one.
    pub high: Option<u64>,
    /// The share of subjects whose checks were recorded; 1 means all subjects.
    pub rate: f64,
    /// The number of recorded subjects.
    pub subjects: u64,
    /// The number of their checks.
    pub checks: u64,
    /// The effect of at most 12 limits, the smallest first. The suggested one is among them.
    pub candidates: Vec<CandidateLimit>,
    /// The limits that shares of the subjects need.
    pub distribution: Vec<NeededLimit>,
    /// A description of the bounds and their formula.
    pub method: String,
    /// Warnings about the result, as sentences.
    pub warnings: Vec<String>,
}

/// The effect of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CandidateLimit {
    /// The limit.
    pub limit: u64,
    /// The number of subjects that it denies at least once.
    pub subjects_denied: u64,
    /// Their share of the subjects.
    pub share_of_subjects: f64,
    /// The number of checks that it denies.
    pub checks_denied: u64,
    /// Their share of the checks.
    pub share_of_checks: f64,
}

/// The limit that a share of the subjects needs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NeededLimit {
    /// The percentage of subjects that need at most this limit.
    pub percentile: f64,
    /// The limit; null if the algorithm has no limit that is great enough.
    pub limit: Option<u64>,
}

const fn one_percent() -> f64 {
    0.01
}
