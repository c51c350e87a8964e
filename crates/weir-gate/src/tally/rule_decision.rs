//! The decisions of the single rules about a check.

use std::sync::Arc;

use weir_domain::charge::RuleCharge;
use weir_domain::id::{OverrideId, RuleId};
use weir_domain::matching::{Matched, subject_key};
use weir_domain::request::Request;
use weir_domain::rulebook::ActiveRule;
use weir_domain::subject::SubjectKey;
use weir_domain::time::Timestamp;
use weir_wire::check::LimitAnswer;

use super::event::DecisionEvent;

/// The decision of one rule about a check.
pub(crate) struct RuleDecision<'a> {
    pub(crate) rule: &'a Arc<ActiveRule>,
    /// The request that meets the rule.
    pub(crate) request: &'a Request,
    /// The units that the request needs of the rule.
    pub(super) cost: u64,
    pub(super) subject: Option<SubjectKey>,
    pub(crate) shadow: bool,
    pub(crate) passes: bool,
    pub(super) retry_after_ms: Option<u64>,
    pub(super) refunded: bool,
    /// The answers of its limits. Empty for a rule that allows or denies without a limit.
    pub(super) limits: &'a [LimitAnswer],
    /// The charge of a rule that has limits.
    charge: Option<&'a RuleCharge>,
}

impl RuleDecision<'_> {
    /// The override that applied to the subject, if there was one.
    pub(super) fn override_id(&self, at: Timestamp) -> Option<OverrideId> {
        let values = self.rule.rule.subject_values(|name| self.request.attribute(name)).ok()?;
        self.rule.overrides.find(&self.rule.rule, &values, at)?.override_id()
    }

    /// The ids under which the decision is counted: that of the rule, and those of the segments of its checks.
    pub(super) fn counted_ids(&self) -> impl Iterator<Item = RuleId> {
        let id = self.rule.id;
        let segments = self.charge.into_iter().flat_map(move |charge| {
            let value = |name: &str| self.request.attribute(name);
            let rule = &charge.active.rule;
            rule.segments(charge.mode, charge.variant_name(), value)
                .map(move |segment| segment.id(id))
        });
        std::iter::once(id).chain(segments)
    }
}

/// The decisions of the rules that match the request.
pub(crate) fn decisions<'a>(event: &'a DecisionEvent<'_>) -> Vec<RuleDecision<'a>> {
    match event.matched {
        Matched::Denied(by) => {
            let denied = |(at, rule)| outright(rule, false, event.request_of(at));
            by.iter().enumerate().map(denied).collect()
        }
        Matched::Allowed(rule) => vec![outright(rule, true, event.request_of(0))],
        Matched::Unmatched(_) | Matched::TooManyLimits => Vec::new(),
        Matched::Charged(charges) => {
            let mut answers = &event.answer.limits[..];
            let decide = |(at, charge): (usize, &'a RuleCharge)| {
                let (limits, rest) = answers.split_at(charge.limits().len().min(answers.len()));
                answers = rest;
                charged(charge, event.request_of(at), limits)
            };
            charges.iter().enumerate().map(decide).collect()
        }
    }
}

/// The decision of a rule that allows or denies without a limit.
fn outright<'a>(rule: &'a Arc<ActiveRule>, passes: bool, request: &'a Request) -> RuleDecision<'a> {
    let values = rule.rule.subject_values(|name| request.attribute(name)).ok();
    let values = values.filter(|values| !values.is_empty());
    let subject = values.map(|values| subject_key(rule.rule.count_by(), &values));
    let retry_after_ms = if passes { Some(0) } else { None };
    let cost = request.cost();
    let shadow = false;
    let refunded = false;
    let limits = &[];
    let charge = None;
    RuleDecision {
        rule,
        request,
        cost,
        subject,
        shadow,
        passes,
        retry_after_ms,
        refunded,
        limits,
        charge,
    }
}

fn charged<'a>(
    charge: &'a RuleCharge,
    request: &'a Request,
    limits: &'a [LimitAnswer],
) -> RuleDecision<'a> {
    let mut passes = true;
    let mut refunded = false;
    let mut retry_after_ms = Some(0);
    for limit in limits {
        refunded |= limit.refunded == Some(true);
        if !limit.allowed {
            passes = false;
            let longer = |(a, b): (u64, u64)| a.max(b);
            retry_after_ms = retry_after_ms.zip(limit.retry_after_ms).map(longer);
        }
    }
    let subject = (!charge.active.rule.count_by().is_empty()).then_some(charge.subject);
    let rule = &charge.active;
    let shadow = charge.is_alone();
    let cost = charge.own_cost.map_or(request.cost(), |units| units.max(1));
    let charge = Some(charge);
    RuleDecision {
        rule,
        request,
        cost,
        subject,
        shadow,
        passes,
        retry_after_ms,
        refunded,
        limits,
        charge,
    }
}
