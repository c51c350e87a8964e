//! Events in JSON, which explain a change in the statistics.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::time::DateTime;

/// The most events of one answer.
pub const EVENTS_MAX: u32 = 200;

/// `GET /tenants/{tenant}/stats/events`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Events {
    /// The events, those that ended last first; at most 200. If there are more, overrides are left out first, then alerts.
    pub data: Vec<Event>,
    /// Whether there were more events.
    pub truncated: bool,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Event {
    /// The kind of the event.
    pub kind: EventKind,
    /// The time; of an outage, the start of the first step with checks that were answered without Redis; of an alert that fired
    /// several times, the first time.
    pub at: DateTime,
    /// The end of an outage, or the last time at which an alert fired; null for other kinds.
    pub until: Option<DateTime>,
    /// The change or finding in words, such as `burst 40 → 15`; null if there is nothing to add.
    #[serde(default)]
    pub summary: Option<String>,
    /// The subject of a changed override, or of the last quota alert.
    #[serde(default)]
    pub subject: Option<BTreeMap<String, String>>,
    /// The number of times that an alert fired.
    #[serde(default)]
    pub firings: Option<u64>,
    /// The length of the steps from which the times of an outage are known: 10,000 within three days, of one rule within two hours.
    #[serde(default)]
    pub step_ms: Option<u64>,
    /// The action in the audit log, such as `rule.update`; null for alerts and outages.
    pub action: Option<String>,
    /// The name of the person or key that made the change.
    pub actor: Option<String>,
    /// The rule that changed, whose override changed, or that the alert watches.
    pub rule_id: Option<String>,
    /// The name of the rule.
    pub rule: Option<String>,
    /// The namespace of the rule, or that the alert watches.
    pub namespace: Option<String>,
    /// The name of the alert.
    pub alert: Option<String>,
    /// The number of checks of an outage that were answered without Redis.
    pub checks: Option<u64>,
}

/// A kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A rule was created, changed, reverted or deleted.
    RuleChange,
    /// An override, or many at once, were written or deleted.
    OverrideChange,
    /// The enforcement of limits was switched on or off.
    Enforcement,
    /// An alert fired.
    Alert,
    /// Redis was away for a gate: in steps of ten seconds it answered 10 % of its checks or more without it. Of times for which only
    /// longer steps are retained, this is not known, and every event of checks without Redis has this kind.
    RedisOutage,
    /// Redis was slow: from 1 % to 10 % of the checks were answered without it, because they were over the time for its calls.
    RedisSlow,
}
