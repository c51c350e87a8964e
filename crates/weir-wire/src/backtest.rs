//! Back-tests of alerts in JSON: when an alert would have fired over a past time.

use serde::{Deserialize, Serialize};

use crate::alerts::{AlertBody, AlertKind};
use crate::problem::FieldProblem;
use crate::time::DateTime;

/// The longest time of a back-test, in seconds: seven days.
pub const BACKTEST_S_MAX: u32 = 7 * 24 * 60 * 60;
/// The most firings of an answer.
pub const FIRINGS_MAX: usize = 500;

/// `POST /tenants/{tenant}/alerts/backtest`: a stored alert, or the condition of one that is not stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BacktestBody {
    /// `alert_…`: a stored alert, enabled or not. It is given instead of a condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alert_id: Option<String>,
    /// The kind of the condition: `denial_share`. No history of quotas is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<AlertKind>,
    /// Only decisions of this rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_id: Option<String>,
    /// Only requests of this namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The lowest share of denied checks that is announced, 1 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_percent: Option<u32>,
    /// The time over which the share is computed, in whole minutes up to a day; default 300.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_s: Option<u32>,
    /// The lowest number of checks for which the share is computed; default 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks_min: Option<u64>,
    /// The start; default: a day before the end. Moved back to a whole minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<DateTime>,
    /// The end; default and latest: now. At most seven days after the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<DateTime>,
}

/// The times at which an alert would have fired. The condition is evaluated once per minute, with all checks of the minute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BacktestAnswer {
    /// The start of the first minute.
    pub from: DateTime,
    /// The end of the last minute.
    pub to: DateTime,
    /// The number of firings.
    pub fired: u64,
    /// The number of messages of all firings. A firing that lasts longer than the window is announced again.
    pub messages: u64,
    /// The firings, oldest first; the first 500.
    pub firings: Vec<Firing>,
    /// Whether there were more firings.
    pub truncated: bool,
    /// The length of a step of `highest_percent`, in seconds: whole minutes.
    pub step_s: u32,
    /// The highest share of denied checks in each step, in percent; null where no window had enough checks.
    pub highest_percent: Vec<Option<f64>>,
    /// The time up to which every gate has reported its decisions.
    pub as_of: DateTime,
    /// The number of decisions in this time that gates could not record, of all tenants.
    pub dropped: u64,
}

/// A firing: it begins with a message, and lasts while the share is reached. If the share is reached again before the next
/// message could be sent, the firing continues.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = BacktestFiring))]
pub struct Firing {
    /// The start of the first minute in which the share was reached.
    pub from: DateTime,
    /// The end of the last such minute; null if the share was still reached at the end of the back-test.
    pub to: Option<DateTime>,
    /// The number of messages.
    pub messages: u64,
    /// The highest share of denied checks, in percent.
    pub highest_percent: f64,
    /// The denied checks of the window with the highest share.
    pub denied: u64,
    /// All checks of that window.
    pub checks: u64,
}

impl BacktestBody {
    /// The alert whose condition is given, without name and webhook, or all problems of the fields.
    pub fn alert(&self) -> Result<AlertBody, Vec<FieldProblem>> {
        let Some(kind) = self.kind else {
            let reason = "must be given, unless `alert_id` names a stored alert";
            return Err(vec![FieldProblem::new("kind", reason)]);
        };
        Ok(AlertBody {
            name: String::new(),
            webhook_ids: Vec::new(),
            enabled: true,
            kind,
            rule_id: self.rule_id.clone(),
            namespace: self.namespace.clone(),
            customer: None,
            thresholds_percent: None,
            share_percent: self.share_percent,
            window_s: self.window_s,
            checks_min: self.checks_min,
        })
    }

    /// The first field of a condition that is given.
    pub fn given(&self) -> Option<&'static str> {
        let fields = [
            ("kind", self.kind.is_some()),
            ("rule_id", self.rule_id.is_some()),
            ("namespace", self.namespace.is_some()),
            ("share_percent", self.share_percent.is_some()),
            ("window_s", self.window_s.is_some()),
            ("checks_min", self.checks_min.is_some()),
        ];
        fields.into_iter().find_map(|(field, given)| given.then_some(field))
    }
}
