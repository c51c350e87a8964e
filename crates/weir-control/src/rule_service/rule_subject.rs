//! One subject of a rule: the override that applies to it, and the state of its limits.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use weir_domain::charge::RuleCharge;
use weir_domain::draft::Action;
use weir_domain::id::{OverrideId, PlanId, TenantId};
use weir_domain::overrides::{Active, Effect};
use weir_domain::rulebook::ActiveRule;
use weir_domain::spread::SpreadBy;
use weir_domain::time::{Micros, Timestamp};
use weir_http::problem::Problem;
use weir_wire::check::LimitAnswer;
use weir_wire::regions::RegionLimits;

use super::counters::{CountersError, Inspected, inspect};
use super::limit_answer::{limit_answers, region_limits, unread_limit_answer};
use super::subject::subject_values;
use crate::state::ControlState;
use weir_domain::matching::charge_of;

/// A subject of a rule, with the override that applies to it.
#[derive(Debug)]
pub(crate) struct RuleSubject {
    pub(crate) active: Arc<ActiveRule>,
    /// The values in the forms of `count_by`.
    pub(crate) subject: BTreeMap<String, String>,
    spread_by: SpreadBy,
    exception: Option<Active>,
    values: Vec<String>,
}

impl RuleSubject {
    /// The subject with a value for each attribute that the rule counts by.
    pub(crate) fn new(
        (active, spread_by): (Arc<ActiveRule>, SpreadBy),
        subject: &BTreeMap<String, String>,
        now: Timestamp,
    ) -> Result<Self, Problem> {
        let values = subject_values(&active.rule, subject)?;
        // Overrides replace limits, so they have no effect on a rule without them.
        let limited = active.rule.action() == Action::Limit;
        let found = limited.then(|| active.overrides.find(&active.rule, &values, now)).flatten();
        let exception = found.cloned();
        let values: Vec<_> = values.into_iter().map(Cow::into_owned).collect();
        let names = active.rule.count_by().iter().map(|counted| counted.attribute.clone());
        let subject = names.zip(values.iter().cloned()).collect();
        Ok(Self { active, subject, spread_by, exception, values })
    }

    /// The action that applies to the subject.
    pub(crate) fn action(&self) -> Action {
        match self.exception.as_ref().map(|active| &active.effect) {
            Some(Effect::Allow) => Action::Allow,
            Some(Effect::Deny) => Action::Deny,
            Some(Effect::Limits(_)) => Action::Limit,
            None => self.active.rule.action(),
        }
    }

    /// The id of the override that applies to the subject.
    pub(crate) fn override_id(&self) -> Option<OverrideId> {
        self.exception.as_ref().and_then(Active::override_id)
    }

    /// The id of the plan that applies to the subject.
    pub(crate) fn plan_id(&self) -> Option<PlanId> {
        Some(self.exception.as_ref()?.plan()?.plan)
    }

    /// The limits of the subject if their counters could not be read.
    pub(crate) fn unread_limits(&self, now: Timestamp) -> Vec<LimitAnswer> {
        let now = Micros::from_ms(now.as_millis_u64());
        let charge = self.charge();
        let limits = charge.iter().flat_map(RuleCharge::limits);
        limits.map(|limit| unread_limit_answer(&self.active, limit, now)).collect()
    }

    /// The charge of the subject, if limits apply to it. The conditions of the rule are ignored.
    pub(crate) fn charge(&self) -> Option<RuleCharge> {
        let limited = self.action() == Action::Limit;
        let exception = self.exception.as_ref();
        limited.then(|| charge_of(&self.active, &self.spread_by, &self.values, exception))
    }
}

/// The present state of the limits of a subject.
#[derive(Debug, Default)]
pub(crate) struct SubjectLimits {
    /// The limits; those of the region where least is left, if the rule is counted in several.
    pub(crate) limits: Vec<LimitAnswer>,
    /// Those of each region, if the rule is counted in several.
    pub(crate) regions: Vec<RegionLimits>,
}

impl SubjectLimits {
    /// The limits of a charge that was inspected, in JSON.
    pub(crate) fn of(active: &ActiveRule, charge: &RuleCharge, inspected: &Inspected) -> Self {
        let limits = charge.limits();
        Self {
            limits: limit_answers(active, limits, &inspected.decisions, inspected.at),
            regions: region_limits(active, limits, inspected),
        }
    }
}

/// Returns for each subject the present state of its limits. The subjects are of rules of one namespace. A subject without
/// limits has an empty list.
pub(crate) async fn limits_of(
    control: &ControlState,
    tenant: TenantId,
    namespace: &str,
    subjects: &[RuleSubject],
) -> Vec<Result<SubjectLimits, CountersError>> {
    let charges: Vec<_> = subjects.iter().map(RuleSubject::charge).collect();
    let charged = charges.iter().flatten();
    let mut inspected = inspect(control, tenant, namespace, 1, charged).await.into_iter();
    let of_subject = |(subject, charge): (&RuleSubject, &Option<RuleCharge>)| {
        let Some((charge, inspected)) =
            charge.as_ref().and_then(|charge| Some((charge, inspected.next()?)))
        else {
            return Ok(SubjectLimits::default());
        };
        Ok(SubjectLimits::of(&subject.active, charge, &inspected?))
    };
    subjects.iter().zip(&charges).map(of_subject).collect()
}
