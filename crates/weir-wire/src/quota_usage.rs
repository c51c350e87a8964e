//! The used units of quotas, by subject.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::time::DateTime;
use crate::words::Period;

/// The most quota rules, and the most subjects of all rules, that a list is made from.
pub const USAGE_RULES_MAX: u32 = 1_000;
/// See [`USAGE_RULES_MAX`].
pub const USAGE_SUBJECTS_MAX: u32 = 10_000;

/// `GET /tenants/{tenant}/usage`: the counters of the present periods, by namespace, rule and subject; with `period`, what was
/// stored of ended periods, by namespace, rule and end of the period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QuotaUsagePage {
    /// The entries.
    pub data: Vec<QuotaUsage>,
    /// Pass it as `?cursor=` to get the next page; null on the last.
    pub next_cursor: Option<String>,
    /// The start of the statistics that name the subjects. A subject without a check since then is not listed. Null with `period`.
    pub subjects_from: Option<DateTime>,
    /// The most checks since then of a subject that is not listed; 0 if every subject since then is. Null with `period`: not known.
    pub error_at_most: Option<u64>,
    /// Whether the tenant has more quota rules, or more subjects, than a list is made from. With `period`: whether 10,000 entries are
    /// stored whose periods ended at the same time, so that others can be missing.
    pub truncated: bool,
    /// The months in which stored periods began that have ended, the newest first: values of `period`.
    pub periods: Vec<String>,
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
    /// The start of the period; null if the quota never renews.
    pub from: Option<DateTime>,
    /// The end of the period; null if the quota never renews.
    pub to: Option<DateTime>,
    /// The used units. Units that gates lease count as used. In the present period exact, and at most `limit`: units beyond it, which
    /// `/record` and rules with `over: "debt"` can use, are not shown. In an ended period those until `counted_until`, units beyond
    /// the limit included.
    pub used: u64,
    /// The units of a period, those of an override included; of an ended period, when the counter was read last before its end.
    pub limit: u64,
    /// The used units beyond the limit; null in the present period. Denied units are not used, so they are no overage.
    pub overage: Option<u64>,
    /// The time until which `used` counts; null in the present period. `to`: all units of the period. An earlier time: the units
    /// after it are not known.
    pub counted_until: Option<DateTime>,
    /// The denied checks of the subject by this rule since `subjects_from`, at least, those of shadow mode included; null if all
    /// requests share one counter, and in ended periods.
    pub denied: Option<u64>,
}
