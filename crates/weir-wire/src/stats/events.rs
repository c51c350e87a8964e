//! Events in JSON, which explain a change in the statistics.

use serde::{Deserialize, Serialize};

use crate::time::DateTime;

/// The most events of one answer.
pub const EVENTS_MAX: u32 = 200;

/// `GET /tenants/{tenant}/stats/events`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Events {
    /// The events, the newest first; at most 200.
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
    /// The time; of an outage, the start of the first step with checks that were answered without Redis.
    pub at: DateTime,
    /// The end of an outage; null for other kinds.
    pub until: Option<DateTime>,
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
    /// Checks were answered without Redis.
    RedisOutage,
}
