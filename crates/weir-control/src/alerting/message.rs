//! The events that webhooks get, and their JSON for standard webhooks: kind, time and event.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use weir_domain::id::{AlertId, RuleId, TenantId};
use weir_domain::time::Timestamp;
use weir_store::{AlertRow, RuleRow};
use weir_wire::time::DateTime;

/// An event.
#[derive(Debug)]
pub(crate) enum WebhookMessage {
    /// A test message.
    Test {
        /// The name of the webhook.
        webhook: String,
    },
    /// A subject has used a share of a quota.
    Quota(QuotaReached),
    /// A share of checks was denied.
    DenialShare(ShareReached),
    /// The condition of an alert no longer holds.
    Resolved(Resolved),
}

/// The kind of test messages.
pub(super) const TEST: &str = "webhook.test";

/// The name of an alert.
#[derive(Debug, Clone)]
pub(crate) struct AlertName {
    pub(super) id: AlertId,
    pub(super) name: String,
}

/// The name of a rule.
#[derive(Debug, Clone)]
pub(crate) struct RuleName {
    pub(super) id: RuleId,
    pub(super) namespace: String,
    pub(super) name: String,
}

/// A subject that has used a share of a quota.
#[derive(Debug)]
pub(crate) struct QuotaReached {
    pub(super) alert: AlertName,
    pub(super) rule: RuleName,
    pub(super) subject: BTreeMap<String, String>,
    pub(super) threshold_percent: u8,
    pub(super) used: u64,
    pub(super) limit: u64,
    pub(super) period: &'static str,
    /// The period; `None` if the quota never renews.
    pub(super) between: Option<(Timestamp, Timestamp)>,
}

/// A share of checks that was denied.
#[derive(Debug)]
pub(crate) struct ShareReached {
    pub(super) alert: AlertName,
    pub(super) rule: Option<RuleName>,
    pub(super) namespace: Option<String>,
    pub(super) denied: u64,
    /// Those of them that a rule in shadow mode would have denied.
    pub(super) would_deny: u64,
    pub(super) checks: u64,
    pub(super) share_percent: u8,
    pub(super) window_s: u32,
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
}

/// The end of what an alert announced.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(super) alert: AlertName,
    pub(super) rule: Option<RuleName>,
    pub(super) namespace: Option<String>,
    /// The time of the first announcement.
    pub(super) since: Timestamp,
    pub(super) at: Timestamp,
    /// Whether it ended because somebody disabled the alert.
    pub(super) disabled: bool,
}

impl WebhookMessage {
    /// The event, if it is about a quota.
    pub(super) const fn quota(&self) -> Option<&QuotaReached> {
        match self {
            Self::Quota(reached) => Some(reached),
            _ => None,
        }
    }

    /// The name of the kind.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Test { .. } => TEST,
            Self::Quota(_) => "alert.quota",
            Self::DenialShare(_) => "alert.denial_share",
            Self::Resolved(_) => "alert.resolved",
        }
    }

    /// The body for a standard webhook.
    pub(super) fn body(&self, tenant_id: TenantId, now: Timestamp) -> Value {
        let data = match self {
            Self::Test { webhook } => json!({ "webhook": webhook }),
            Self::Quota(quota) => quota.data(),
            Self::DenialShare(share) => share.data(),
            Self::Resolved(resolved) => resolved.data(),
        };
        json!({
            "type": self.kind(),
            "timestamp": DateTime(now),
            "tenant_id": tenant_id.to_string(),
            "data": data,
        })
    }
}

impl AlertName {
    pub(super) fn of(row: &AlertRow) -> Self {
        Self { id: row.id, name: row.name.clone() }
    }

    fn data(&self) -> Value {
        json!({ "id": self.id.to_string(), "name": self.name })
    }
}

impl RuleName {
    pub(super) fn of(row: &RuleRow) -> Self {
        Self { id: row.id, namespace: row.namespace.clone(), name: row.name.clone() }
    }

    fn data(&self) -> Value {
        json!({ "id": self.id.to_string(), "namespace": self.namespace, "name": self.name })
    }
}

impl QuotaReached {
    fn data(&self) -> Value {
        json!({
            "alert": self.alert.data(),
            "rule": self.rule.data(),
            "subject": self.subject,
            "threshold_percent": self.threshold_percent,
            "used": self.used,
            "limit": self.limit,
            "period": self.period,
            "from": self.between.map(|(from, _)| DateTime(from)),
            "to": self.between.map(|(_, to)| DateTime(to)),
        })
    }
}

impl ShareReached {
    fn data(&self) -> Value {
        json!({
            "alert": self.alert.data(),
            "rule": self.rule.as_ref().map(RuleName::data),
            "namespace": self.namespace,
            "denied": self.denied,
            "checks": self.checks,
            "share_percent": self.share_percent,
            "from": DateTime(self.from),
            "to": DateTime(self.to),
        })
    }
}

impl Resolved {
    fn data(&self) -> Value {
        json!({
            "alert": self.alert.data(),
            "rule": self.rule.as_ref().map(RuleName::data),
            "namespace": self.namespace,
            "from": DateTime(self.since),
            "to": DateTime(self.at),
            "reason": if self.disabled { "alert_disabled" } else { "condition_ended" },
        })
    }
}
