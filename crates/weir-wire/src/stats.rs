//! Statistics: how much was let through and refused, when, by which rule, for whom.
//!
//! A check is counted once for the whole request (`allowed` or `denied`) and once for each rule that
//! it met. Peeks and repeats with the same idempotency key are not counted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::time::DateTime;

/// Most points of one series.
pub const POINTS_MAX: usize = 2_000;

/// `GET /tenants/{tenant}/stats/series`: one number for each step, zeros included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Series {
    /// Where the first step begins.
    pub start: DateTime,
    /// How long a step is; with `starts` its usual length.
    pub step_s: u32,
    /// Where each step begins, when steps are days of a time zone, which are not all of one length.
    pub starts: Option<Vec<DateTime>>,
    /// Let through.
    pub allowed: Vec<u64>,
    /// Refused.
    pub denied: Vec<u64>,
    /// What a rule that only watches would have refused.
    pub shadow_denied: Vec<u64>,
    /// Answered without Redis, whether let through or refused.
    pub degraded: Vec<u64>,
    /// Calls that gave units back.
    pub refunded: Vec<u64>,
    /// Everything before this is counted; later numbers still grow.
    pub as_of: DateTime,
    /// Decisions in this time that gates could not record, of all tenants together.
    pub dropped: u64,
}

/// Most points of one rule in `stats/rules`.
pub const RULE_POINTS_MAX: usize = 60;
/// Most rules in `stats/rules`.
pub const RULE_SERIES_MAX: usize = 1_000;

/// `GET /tenants/{tenant}/stats/rules`: a short series of each rule that decided something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RulesSeries {
    /// Where the first step begins.
    pub start: DateTime,
    /// How long a step is.
    pub step_s: u32,
    /// The busiest first, at most 1,000.
    pub data: Vec<RuleSeries>,
    /// Everything before this is counted; later numbers still grow.
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
    /// Let through.
    pub allowed: Vec<u64>,
    /// Refused.
    pub denied: Vec<u64>,
    /// What would have been refused, where the rule only watches.
    pub shadow_denied: Vec<u64>,
}

/// Counts of one rule or of whole requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Counts {
    /// Let through.
    pub allowed: u64,
    /// Refused.
    pub denied: u64,
    /// What a rule that only watches would have refused.
    pub shadow_denied: u64,
    /// Answered without Redis, whether let through or refused.
    pub degraded: u64,
    /// Calls that gave units back.
    pub refunded: u64,
}

/// `GET /tenants/{tenant}/stats/summary`: totals, beside those of the time before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Summary {
    /// From when, widened to whole minutes, hours or days.
    pub from: DateTime,
    /// Until when.
    pub to: DateTime,
    /// What was counted in it.
    pub counts: Counts,
    /// The same for the time of equal length before it.
    pub previous: Counts,
    /// Of the denied ones, those beyond the tenant's ceiling of checks a second; 0 for a rule.
    #[serde(default)]
    pub tenant_rate_denied: u64,
    /// Everything before this is counted; later numbers still grow.
    pub as_of: DateTime,
    /// Decisions in this time that gates could not record, of all tenants together.
    pub dropped: u64,
}

/// What a list of the most active is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TopBy {
    /// Whom a rule counts.
    #[default]
    Subject,
    /// Rules.
    Rule,
}

/// What comes first in a list of the most active.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TopOrder {
    /// Most refused.
    #[default]
    Denied,
    /// Most asked.
    Checks,
}

/// `GET /tenants/{tenant}/stats/top`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Top {
    /// What the entries are.
    pub by: TopBy,
    /// From when, widened to whole steps of what is kept.
    pub from: DateTime,
    /// Until when.
    pub to: DateTime,
    /// The most active, first ones first.
    pub data: Vec<TopEntry>,
    /// By how much `checks` of a subject may be too high at most, and how often a subject that is
    /// not listed may have asked; 0: exact, as lists of rules are.
    pub error_at_most: u64,
    /// Everything before this is counted; later numbers still grow.
    pub as_of: DateTime,
    /// Decisions in this time that gates could not record, of all tenants together.
    pub dropped: u64,
}

/// One of the most active.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TopEntry {
    /// The rule, or the rule that counts the subject.
    pub rule_id: String,
    /// Its name; null once it is deleted.
    pub rule: Option<String>,
    /// Its namespace; null once it is deleted.
    pub namespace: Option<String>,
    /// The attributes counted by, each cut to 128 characters; null in a list of rules.
    pub subject: Option<BTreeMap<String, String>>,
    /// How often it was asked.
    pub checks: u64,
    /// Refused, or what would have been where the rule only watches.
    pub denied: u64,
}

/// One refused check of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DenialEntry {
    /// `denial_…`
    pub id: String,
    /// When.
    pub at: DateTime,
    /// Where it was asked.
    pub namespace: String,
    /// The rule that refused, the first if there were several.
    pub rule_id: String,
    /// Its name as it was then.
    pub rule: String,
    /// Whether the rule only watches: the check was not refused.
    pub shadow: bool,
    /// The attributes that the rule counts by, each cut to 128 characters; empty when it counts all together.
    pub subject: BTreeMap<String, String>,
    /// How much was asked for.
    pub cost: u64,
    /// When the same check could pass; null: never.
    pub retry_after_ms: Option<u64>,
    /// Whether Redis could not be asked.
    pub degraded: bool,
    /// How many refused checks of that second this one stands for: 1 unless there were too many to keep.
    pub stands_for: u32,
}

/// `GET /tenants/{tenant}/stats/denials`, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Denials {
    /// The entries.
    pub data: Vec<DenialEntry>,
    /// Pass it as `?cursor=` to get the next page; null on the last.
    pub next_cursor: Option<String>,
    /// Each gate keeps at most so many a second; beyond that an entry stands for several.
    pub kept_per_second: u32,
    /// How long entries are kept.
    pub kept_s: u32,
    /// Everything before this is in the log.
    pub as_of: DateTime,
}

/// One second of `GET /tenants/{tenant}/stats/live`, as the data of an event named `tick`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LiveTick {
    /// When it was read.
    pub at: DateTime,
    /// How long after the tick before.
    pub span_ms: u32,
    /// Whole requests counted since the tick before.
    pub requests: Counts,
    /// What each rule decided since then, the busiest first, at most 50.
    pub rules: Vec<LiveRule>,
    /// Refused since then, newest first, at most 50.
    pub denials: Vec<DenialEntry>,
}

/// What one rule decided since the tick before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LiveRule {
    /// `rule_…`
    pub rule_id: String,
    /// Its decisions.
    pub counts: Counts,
}

impl Counts {
    /// How many checks they are.
    pub fn checks(&self) -> u64 {
        self.allowed + self.denied
    }
}
