//! Statistics: allowed and denied checks by time, rule and subject.
//!
//! A check is counted once for the whole request (`allowed` or `denied`) and once for each rule that
//! it met. Peeks and repeats with the same idempotency key are not counted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::time::DateTime;

mod denied_request;
mod events;
mod segments;

pub use denied_request::{DeniedRequest, ExplainedDenial, OF_REQUEST_MAX, REVISIONS_SINCE_MAX};
pub use events::{EVENTS_MAX, Event, EventKind, Events};
pub use segments::{Comparison, RuleSegments, SUBJECTS_COUNTED_MAX, SegmentCounts, SegmentKind};

/// The most points of one series.
pub const POINTS_MAX: usize = 2_000;

/// `GET /tenants/{tenant}/stats/series`: one number for each step, zeros included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Series {
    /// The start of the first step.
    pub start: DateTime,
    /// The length of a step; with `starts` the usual length.
    pub step_s: u32,
    /// The start of each step, if steps are days of a time zone, which differ in length.
    pub starts: Option<Vec<DateTime>>,
    /// Allowed checks.
    pub allowed: Vec<u64>,
    /// Denied checks.
    pub denied: Vec<u64>,
    /// Checks that a shadow rule would have denied.
    pub shadow_denied: Vec<u64>,
    /// Checks answered without Redis, allowed or denied.
    pub degraded: Vec<u64>,
    /// Refunds.
    pub refunded: Vec<u64>,
    /// Records of units that were used already.
    #[serde(default)]
    pub recorded: Vec<u64>,
    /// The durations of whole requests; null for a rule, and if the series begins more than two hours ago.
    #[serde(default)]
    pub latency: Option<LatencySeries>,
    /// The time up to which the counts are complete; later ones can still grow.
    pub as_of: DateTime,
    /// Decisions in this time that gates could not record, of all tenants together.
    pub dropped: u64,
}

/// The durations of decisions in gates, one number for each step; null for a step without checks. They are computed from bins, so
/// a number can be up to 42 % too high or 30 % too low. Durations above 145 ms are reported as 145 ms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LatencySeries {
    /// The median in microseconds.
    pub p50_us: Vec<Option<u64>>,
    /// The 99th percentile in microseconds.
    pub p99_us: Vec<Option<u64>>,
}

/// The most points of one rule in `stats/rules`.
pub const RULE_POINTS_MAX: usize = 60;
/// The most rules that `stats/rules` lists.
pub const RULE_SERIES_MAX: usize = 1_000;

/// `GET /tenants/{tenant}/stats/rules`: a short series of each rule that decided something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RulesSeries {
    /// The start of the first step.
    pub start: DateTime,
    /// The length of a step.
    pub step_s: u32,
    /// The rules, the busiest first, at most 1,000.
    pub data: Vec<RuleSeries>,
    /// The time up to which the counts are complete; later ones can still grow.
    pub as_of: DateTime,
    /// Decisions in this time that gates could not record, of all tenants together.
    pub dropped: u64,
}

/// One rule's decisions, a number for each step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RuleSeries {
    /// `rule_…`
    pub rule_id: String,
    /// Allowed checks.
    pub allowed: Vec<u64>,
    /// Denied checks.
    pub denied: Vec<u64>,
    /// Checks that the rule would have denied, if it is a shadow rule.
    pub shadow_denied: Vec<u64>,
}

/// Counts of one rule or of whole requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Counts {
    /// Allowed checks.
    pub allowed: u64,
    /// Denied checks.
    pub denied: u64,
    /// Checks that a shadow rule would have denied.
    pub shadow_denied: u64,
    /// Checks answered without Redis, allowed or denied.
    pub degraded: u64,
    /// Refunds.
    pub refunded: u64,
    /// Records of units that were used already.
    #[serde(default)]
    pub recorded: u64,
}

/// `GET /tenants/{tenant}/stats/summary`: totals, and those of the previous period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Summary {
    /// The start, widened to whole minutes, hours or days.
    pub from: DateTime,
    /// The end.
    pub to: DateTime,
    /// The counts of the period.
    pub counts: Counts,
    /// The counts of the previous period of the same length.
    pub previous: Counts,
    /// The denied checks beyond the tenant's ceiling of checks per second; 0 for a rule.
    #[serde(default)]
    pub tenant_rate_denied: u64,
    /// The namespaces with checks that no rule counted, the most such checks first, at most 100; empty for a rule.
    #[serde(default)]
    pub unmatched: Vec<UnmatchedChecks>,
    /// The time up to which the counts are complete; later ones can still grow.
    pub as_of: DateTime,
    /// Decisions in this time that gates could not record, of all tenants together.
    pub dropped: u64,
}

/// The most namespaces of `unmatched`.
pub const UNMATCHED_MAX: usize = 100;

/// The checks and records of a namespace that no rule counted. They were allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UnmatchedChecks {
    /// The namespace that the checks named. Empty: namespaces without rules beyond the first 16 of a gate and hour.
    pub namespace: String,
    /// Whether the namespace had no rules.
    pub unknown: bool,
    /// All checks and records of the namespace.
    pub checks: u64,
    /// Those that no rule counted.
    pub unmatched: u64,
    /// Of `unmatched`, those that lacked an attribute by which a rule counts whose conditions were met.
    pub missing: Vec<MissingAttribute>,
    /// Of `unmatched`, the others: they met the conditions of no rule, or lacked an attribute by which no rule counts any more.
    pub conditions: u64,
}

/// An attribute that checks lacked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MissingAttribute {
    /// Its name.
    pub attribute: String,
    /// The checks and records that lacked it.
    pub checks: u64,
}

/// The entries of a list of the most active.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TopBy {
    /// Subjects of rules.
    #[default]
    Subject,
    /// Rules.
    Rule,
}

/// The order of a list of the most active.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TopOrder {
    /// Most denied first.
    #[default]
    Denied,
    /// Most checked first.
    Checks,
}

/// `GET /tenants/{tenant}/stats/top`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Top {
    /// The kind of entries.
    pub by: TopBy,
    /// The start, widened to whole steps of what is stored.
    pub from: DateTime,
    /// The end.
    pub to: DateTime,
    /// The most active entries, in the requested order.
    pub data: Vec<TopEntry>,
    /// The greatest possible error of `checks` of a subject, and the most checks of a subject that is not listed; 0 if
    /// the list is exact, as lists of rules are.
    pub error_at_most: u64,
    /// The time up to which the counts are complete; later ones can still grow.
    pub as_of: DateTime,
    /// Decisions in this time that gates could not record, of all tenants together.
    pub dropped: u64,
}

/// One entry of a list of the most active.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TopEntry {
    /// The rule, or the rule that counts the subject.
    pub rule_id: String,
    /// Its name; null once it is deleted.
    pub rule: Option<String>,
    /// Its namespace; null once it is deleted.
    pub namespace: Option<String>,
    /// The attributes by which the rule counts, each cut to 128 characters; null in a list of rules.
    pub subject: Option<BTreeMap<String, String>>,
    /// The number of checks.
    pub checks: u64,
    /// Denied checks, or those that a shadow rule would have denied.
    pub denied: u64,
    /// Of `denied`, those that a shadow rule would have denied. A list by denials counts them only among entries that are equal
    /// without them.
    #[serde(default)]
    pub shadow_denied: u64,
}

impl TopEntry {
    /// The denied checks without those of shadow mode, which were allowed.
    pub const fn enforced(&self) -> u64 {
        self.denied.saturating_sub(self.shadow_denied)
    }
}

/// One denied check of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DenialEntry {
    /// `denial_…`
    pub id: String,
    /// The time.
    pub at: DateTime,
    /// The namespace of the check.
    pub namespace: String,
    /// The rule that denied the check, the first if there were several.
    pub rule_id: String,
    /// The name of the rule at that time.
    pub rule: String,
    /// Whether the rule is a shadow rule, so that the check was not denied.
    pub shadow: bool,
    /// The attributes that the rule counts by, each cut to 128 characters; empty if all requests share one counter.
    pub subject: BTreeMap<String, String>,
    /// The cost of the check.
    pub cost: u64,
    /// The time after which the same check could pass; null if it never can.
    pub retry_after_ms: Option<u64>,
    /// Whether Redis could not be reached.
    pub degraded: bool,
    /// The number of denied checks of that second that the entry stands for: 1 unless there were too many to store.
    pub stands_for: u32,
    /// The `x-request-id` of the answer; null for a check of a deferred job.
    #[serde(default)]
    pub request_id: Option<String>,
}

/// `GET /tenants/{tenant}/stats/denials`, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Denials {
    /// The entries.
    pub data: Vec<DenialEntry>,
    /// Pass it as `?cursor=` to get the next page; null on the last.
    pub next_cursor: Option<String>,
    /// The most entries that each gate stores per second; beyond it an entry stands for several checks.
    pub entries_per_second: u32,
    /// The time for which entries are retained.
    pub retention_s: u32,
    /// The time up to which the log is complete.
    pub as_of: DateTime,
}

/// One second of `GET /tenants/{tenant}/stats/live`, as the data of an event named `tick`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LiveTick {
    /// The time of the reading.
    pub at: DateTime,
    /// The time since the previous tick.
    pub span_ms: u32,
    /// Whole requests counted since the previous tick.
    pub requests: Counts,
    /// The decisions of each rule since then, the busiest rule first, at most 50.
    pub rules: Vec<LiveRule>,
    /// Checks denied since then, newest first, at most 50.
    pub denials: Vec<DenialEntry>,
}

/// The decisions of one rule since the previous tick.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LiveRule {
    /// `rule_…`
    pub rule_id: String,
    /// Its decisions.
    pub counts: Counts,
}

impl Counts {
    /// The number of checks.
    pub fn checks(&self) -> u64 {
        self.allowed + self.denied
    }
}
