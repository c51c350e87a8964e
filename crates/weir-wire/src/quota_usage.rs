//! The used units of quotas, by subject.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::time::DateTime;
use crate::words::Period;

/// The most quota rules, and the most subjects of all rules, that a list is made from.
pub const USAGE_RULES_MAX: u32 = 1_000;
/// See [`USAGE_RULES_MAX`].
pub const USAGE_SUBJECTS_MAX: u32 = 10_000;

/// `GET /tenants/{tenant}/usage`, by namespace, rule and subject. The counters are those of the present periods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QuotaUsagePage {
    /// The entries.
    pub data: Vec<QuotaUsage>,
    /// Pass it as `?cursor=` to get the next page; null on the last.
    pub next_cursor: Option<String>,
    /// The start of the statistics that name the subjects. A subject without a check since then is not listed.
    pub subjects_from: DateTime,
    /// The most checks since then of a subject that is not listed; 0 if every subject since then is.
    pub error_at_most: u64,
    /// Whether the tenant has more quota rules, or more subjects, than a list is made from.
    pub truncated: bool,
}

/// A quota of a rule, and what one subject has used of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QuotaUsage {
    /// `rule_…`
    pub rule_id: String,
    /// The namespace of the rule.
    pub namespace: String,
    /// The name of the rule.
    pub rule: String,
    /// The attributes by which the rule counts; empty if all requests share one counter.
    pub subject: BTreeMap<String, String>,
    /// The period of the quota.
    pub period: Period,
    /// The start of the present period; null if the quota never renews.
    pub from: Option<DateTime>,
    /// The end of the present period; null if the quota never renews.
    pub to: Option<DateTime>,
    /// The used units: exact, and at most `limit`. Units that gates lease count as used, and units beyond the limit, which
    /// `/record` can use, are not shown.
    pub used: u64,
    /// The units of a period, those of an override included.
    pub limit: u64,
    /// The denied checks of the subject by this rule since `subjects_from`, at least, those of shadow mode included; null if all
    /// requests share one counter.
    pub denied: Option<u64>,
}
