//! Conditions of alerts: the quota or share that is watched, and its thresholds.

use std::collections::BTreeSet;

use crate::algorithm::Algorithm;
use crate::id::RuleId;
use crate::limit::Limit;
use crate::names::{self, InvalidField};
use crate::rule::Rule;

/// A condition as a tenant wrote it; fields of the other kind are refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConditionDraft {
    /// `quota` or `denial_share`.
    pub kind: String,
    /// The id of the rule.
    pub rule_id: Option<String>,
    /// The namespace whose denials are counted.
    pub namespace: Option<String>,
    /// The customer whose quotas are watched.
    pub customer: Option<String>,
    /// The parts of a quota, in percent.
    pub thresholds_percent: Option<Vec<u32>>,
    /// The share of denied checks, in percent.
    pub share_percent: Option<u32>,
    /// The time over which the share is taken, in seconds.
    pub window_s: Option<u32>,
    /// The least number of checks in that time.
    pub checks_min: Option<u64>,
}

/// The condition under which an alert fires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// A subject has used a part of a rule's quota. Fires once per period, subject and threshold.
    Quota {
        /// The rule; each of its quotas is watched.
        rule_id: RuleId,
        /// The only customer whose subjects are watched: the value of the tenant's customer attribute.
        customer: Option<String>,
        /// The thresholds: at most five, rising, each from 1 to 100.
        thresholds_percent: Vec<u8>,
    },
    /// A share of the checks was denied. Fires once per window.
    DenialShare {
        /// The checks that are counted.
        of: Watched,
        /// The share in percent, from 1 to 100.
        share_percent: u8,
        /// The length of the window: whole minutes.
        window_s: u32,
        /// The number of checks below which the alert does not fire.
        checks_min: u64,
    },
}

/// The checks that are counted for a share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watched {
    /// All requests of the tenant.
    Everything,
    /// The requests of a namespace.
    Namespace(String),
    /// The decisions of a rule.
    Rule(RuleId),
}

/// The default thresholds.
pub const THRESHOLDS_PERCENT: [u8; 3] = [80, 90, 100];
/// The default window, in seconds.
pub const WINDOW_S: u32 = 300;
/// The default for the least number of checks.
pub const CHECKS_MIN: u64 = 100;
/// The most webhooks of an alert.
pub const WEBHOOKS_OF_ALERT_MAX: usize = 5;
/// The most thresholds of an alert.
pub const THRESHOLDS_MAX: usize = 5;
/// The longest window of an alert, in seconds.
pub const WINDOW_S_MAX: u32 = 24 * 60 * 60;
/// The longest time for which an alert can be muted, in seconds.
pub const MUTE_S_MAX: u32 = 7 * 24 * 60 * 60;
/// The most checks that an alert can demand.
pub const CHECKS_MIN_MAX: u64 = 1_000_000_000;

impl Condition {
    /// The condition, or everything that is wrong with it.
    pub fn parse(draft: &ConditionDraft) -> Result<Self, Vec<InvalidField>> {
        let mut wrong = Vec::new();
        let condition = match draft.kind.as_str() {
            "quota" => quota(draft, &mut wrong),
            "denial_share" => denial_share(draft, &mut wrong),
            _ => {
                wrong.push(InvalidField::new("kind", "must be `quota` or `denial_share`"));
                None
            }
        };
        match condition {
            Some(condition) if wrong.is_empty() => Ok(condition),
            _ => Err(wrong),
        }
    }

    /// The name of the kind.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Quota { .. } => "quota",
            Self::DenialShare { .. } => "denial_share",
        }
    }
}

/// Refuses no webhook, too many, and one that is named twice.
pub fn distinct_webhooks(webhooks: &[impl Ord]) -> Result<(), String> {
    let distinct: BTreeSet<_> = webhooks.iter().collect();
    if !(1..=WEBHOOKS_OF_ALERT_MAX).contains(&webhooks.len()) || distinct.len() < webhooks.len() {
        return Err(format!("must be 1 to {WEBHOOKS_OF_ALERT_MAX} different webhooks"));
    }
    Ok(())
}

/// Refuses a rule without quotas, which an alert about quotas cannot watch.
pub fn watchable(rule: &Rule) -> Result<(), &'static str> {
    let is_quota = |limit: &Limit| matches!(limit.algorithm, Algorithm::Quota(_));
    let reason = "names a rule without a quota; choose one that has a limit of that kind";
    rule.limits().iter().any(is_quota).then_some(()).ok_or(reason)
}

/// Refuses a rule that does not count by the attribute that names customers, so that it counts no customer.
pub fn counts_customers(rule: &Rule, customer_attribute: Option<&str>) -> Result<(), &'static str> {
    let attribute = customer_attribute.ok_or("needs the `customer_attribute` of the tenant")?;
    let counts = rule.count_by().iter().any(|counted| counted.attribute == attribute);
    counts
        .then_some(())
        .ok_or("must be left out: the rule does not count by the customer attribute")
}

/// The thresholds of `thresholds_percent` that `used` of `limit` reaches, in their order.
pub fn reached(thresholds_percent: &[u8], used: u64, limit: u64) -> Vec<u8> {
    let reached = |percent: &u8| {
        u128::from(used) * 100 >= u128::from(*percent) * u128::from(limit) && limit > 0
    };
    thresholds_percent.iter().copied().filter(reached).collect()
}

/// Whether `denied` of `checks` is a share of `share_percent` or more, among enough checks.
pub fn share_reached(share_percent: u8, checks_min: u64, denied: u64, checks: u64) -> bool {
    checks >= checks_min && checks > 0 && !reached(&[share_percent], denied, checks).is_empty()
}

fn quota(draft: &ConditionDraft, wrong: &mut Vec<InvalidField>) -> Option<Condition> {
    for (field, given) in [
        ("namespace", draft.namespace.is_some()),
        ("share_percent", draft.share_percent.is_some()),
        ("window_s", draft.window_s.is_some()),
        ("checks_min", draft.checks_min.is_some()),
    ] {
        if given {
            wrong.push(InvalidField::new(field, "is for an alert of kind `denial_share`"));
        }
    }
    let rule_id = rule(draft, wrong);
    if draft.rule_id.is_none() {
        wrong.push(InvalidField::new("rule_id", "must name the rule whose quotas are watched"));
    }
    if let Some(Err(reason)) = draft.customer.as_deref().map(names::value) {
        wrong.push(InvalidField::new("customer", reason));
    }
    let thresholds_percent = thresholds(draft, wrong);
    Some(Condition::Quota {
        rule_id: rule_id?,
        customer: draft.customer.clone(),
        thresholds_percent: thresholds_percent?,
    })
}

fn thresholds(draft: &ConditionDraft, wrong: &mut Vec<InvalidField>) -> Option<Vec<u8>> {
    let Some(given) = &draft.thresholds_percent else { return Some(THRESHOLDS_PERCENT.to_vec()) };
    let mut parsed: Vec<u8> = given.iter().filter_map(|&value| percent(value)).collect();
    let complete = parsed.len() == given.len();
    parsed.sort_unstable();
    parsed.dedup();
    if complete && parsed.len() == given.len() && (1..=THRESHOLDS_MAX).contains(&parsed.len()) {
        return Some(parsed);
    }
    let reason = "must be 1 to 5 different whole numbers from 1 to 100";
    wrong.push(InvalidField::new("thresholds_percent", reason));
    None
}

fn denial_share(draft: &ConditionDraft, wrong: &mut Vec<InvalidField>) -> Option<Condition> {
    for (field, given) in [
        ("thresholds_percent", draft.thresholds_percent.is_some()),
        ("customer", draft.customer.is_some()),
    ] {
        if given {
            wrong.push(InvalidField::new(field, "is for an alert of kind `quota`"));
        }
    }
    let rule_id = rule(draft, wrong);
    let of = match (rule_id, &draft.namespace) {
        (Some(_), Some(_)) => {
            let reason = "must be left out for a rule: its namespace is known";
            wrong.push(InvalidField::new("namespace", reason));
            Watched::Everything
        }
        (Some(id), None) => Watched::Rule(id),
        (None, Some(name)) => {
            if let Err(reason) = names::namespace(name) {
                wrong.push(InvalidField::new("namespace", reason));
            }
            Watched::Namespace(name.clone())
        }
        (None, None) => Watched::Everything,
    };
    let share_percent = draft.share_percent.and_then(percent);
    if share_percent.is_none() {
        wrong.push(InvalidField::new("share_percent", "must be a whole number from 1 to 100"));
    }
    let window_s = draft.window_s.unwrap_or(WINDOW_S);
    if !(60..=WINDOW_S_MAX).contains(&window_s) || !window_s.is_multiple_of(60) {
        let reason = "must be whole minutes, from 60 to 86400 seconds";
        wrong.push(InvalidField::new("window_s", reason));
    }
    let checks_min = draft.checks_min.unwrap_or(CHECKS_MIN);
    if !(1..=CHECKS_MIN_MAX).contains(&checks_min) {
        wrong.push(InvalidField::new("checks_min", "must be from 1 to 1000000000"));
    }
    Some(Condition::DenialShare { of, share_percent: share_percent?, window_s, checks_min })
}

fn rule(draft: &ConditionDraft, wrong: &mut Vec<InvalidField>) -> Option<RuleId> {
    let text = draft.rule_id.as_ref()?;
    let parsed = text.parse().ok();
    if parsed.is_none() {
        wrong.push(InvalidField::new("rule_id", "is not a rule of this tenant"));
    }
    parsed
}

fn percent(value: u32) -> Option<u8> {
    u8::try_from(value).ok().filter(|value| (1..=100).contains(value))
}

#[cfg(test)]
mod tests;
