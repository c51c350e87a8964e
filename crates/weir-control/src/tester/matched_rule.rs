//! The result of one rule for a request, in JSON.

use std::borrow::Cow;
use std::sync::Arc;

use weir_domain::charge::RuleCharge;
use weir_domain::draft::{Action, Mode};
use weir_domain::matching::{RuleMatch, match_rule_of};
use weir_domain::overrides::{Active, Effect};
use weir_domain::request::Request;
use weir_domain::rulebook::ActiveRule;
use weir_domain::spread::SpreadBy;
use weir_domain::time::{Micros, Timestamp};
use weir_wire::tester::{FailedCondition, TestedRule};

use crate::rule_service::{Inspected, SubjectLimits};

/// One rule, and its match with a request.
#[derive(Debug)]
pub(crate) struct MatchedRule {
    pub(crate) active: Arc<ActiveRule>,
    pub(crate) rule_match: RuleMatch,
}

impl MatchedRule {
    pub(crate) fn new(
        active: Arc<ActiveRule>,
        spread_by: &SpreadBy,
        request: &Request,
        now: Timestamp,
    ) -> Self {
        let rule_match = match_rule_of(&active, spread_by, request, now);
        Self { active, rule_match }
    }

    /// The mode in which the rule decides for the subject of the request.
    fn mode(&self) -> Mode {
        match &self.rule_match {
            RuleMatch::Charged(charge) => charge.mode,
            RuleMatch::Passes(_, mode) => *mode,
            _ => self.active.rule.mode(),
        }
    }

    /// Whether the rule is enforced for the subject of the request.
    pub(crate) fn enforced(&self) -> bool {
        self.mode() == Mode::Enforce
    }

    /// Whether the rule allows everything that it matches, regardless of the limits of other rules.
    pub(crate) fn exempts(&self) -> bool {
        let allows = matches!(self.rule_match, RuleMatch::Passes(Effect::Allow, _));
        allows && self.active.rule.action() == Action::Allow
    }

    /// The charge of the request, if limits apply to it.
    pub(crate) fn charge(&self) -> Option<&RuleCharge> {
        match &self.rule_match {
            RuleMatch::Charged(charge) => Some(charge),
            _ => None,
        }
    }

    /// Whether the rule would allow the request. `inspected` is the state of its limits.
    pub(crate) fn passes(&self, inspected: Option<&Inspected>) -> bool {
        match self.rule_match {
            RuleMatch::Passes(Effect::Deny, _) => false,
            RuleMatch::Charged(_) => inspected.is_some_and(|inspected| {
                inspected.decisions.iter().all(|decision| decision.allowed)
            }),
            _ => true,
        }
    }

    /// The rule in JSON.
    pub(crate) fn answer(
        &self,
        request: &Request,
        inspected: Option<&Inspected>,
        now: Micros,
    ) -> TestedRule {
        let rule = &self.active.rule;
        let at = inspected.map_or(now, |inspected| inspected.at);
        let exception = self.exception(request, at.timestamp());
        let of_limits = self.charge().zip(inspected);
        let limits = of_limits.map(|(charge, read)| SubjectLimits::of(&self.active, charge, read));
        let SubjectLimits { limits, regions } = limits.unwrap_or_default();
        let subject = || {
            let values = rule.subject_values(|name| request.attribute(name)).ok()?;
            let names = rule.count_by().iter().map(|counted| counted.attribute.clone());
            Some(names.zip(values.into_iter().map(Cow::into_owned)).collect())
        };
        let matches = matches!(self.rule_match, RuleMatch::Charged(_) | RuleMatch::Passes(..));
        TestedRule {
            rule: rule.name().to_owned(),
            rule_id: self.active.id.to_string(),
            mode: self.mode().into(),
            action: self.action().into(),
            matches,
            failed_condition: self.failed_condition(request),
            missing_attribute: match &self.rule_match {
                RuleMatch::NotCounted(attribute) => Some(attribute.clone()),
                _ => None,
            },
            is_inactive: matches!(self.rule_match, RuleMatch::Inactive),
            variant: self.charge().and_then(|charge| Some(charge.variant_name()?.to_owned())),
            subject: if matches { subject() } else { None },
            override_id: exception.and_then(Active::override_id).map(|id| id.to_string()),
            plan_id: exception.and_then(Active::plan).map(|plan| plan.plan.to_string()),
            would_pass: self.passes(inspected),
            limits,
            regions,
        }
    }

    fn action(&self) -> Action {
        match self.rule_match {
            RuleMatch::Passes(Effect::Allow, _) => Action::Allow,
            RuleMatch::Passes(Effect::Deny, _) => Action::Deny,
            _ => self.active.rule.action(),
        }
    }

    fn failed_condition(&self, request: &Request) -> Option<FailedCondition> {
        let RuleMatch::ConditionFailed(position) = self.rule_match else { return None };
        let condition = self.active.rule.conditions().get(position)?;
        Some(FailedCondition {
            position,
            condition: condition.draft().into(),
            actual: request.attribute(condition.attribute()).map(str::to_owned),
        })
    }

    /// The override that applies to the subject of the request.
    fn exception(&self, request: &Request, now: Timestamp) -> Option<&Active> {
        let rule = &self.active.rule;
        if rule.action() != Action::Limit
            || matches!(self.rule_match, RuleMatch::ConditionFailed(_) | RuleMatch::Inactive)
        {
            return None;
        }
        let values = rule.subject_values(|name| request.attribute(name)).ok()?;
        self.active.overrides.find(rule, &values, now)
    }
}
