//! The stored form of a plan and of an assignment.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weir_domain::customers::{Assignment, PlanRef};
use weir_domain::id::PlanId;
use weir_domain::overrides::Active;
use weir_domain::rule::Rule;
use weir_domain::rulebook::ActiveRule;
use weir_domain::subject::SubjectKey;
use weir_domain::time::Timestamp;

use crate::plans::{PlanBody, PlanRule};
use crate::problem::FieldProblem;

/// A plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredPlan {
    /// `plan_…`
    pub id: String,
    /// The JSON of the plan.
    pub body: Box<str>,
    /// The JSON of the older revisions that some customers keep.
    pub pinned: Box<str>,
}

/// The assignment of a customer to a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredAssignment {
    /// The digest of the customer, in hexadecimal digits.
    pub customer: String,
    /// `plan_…`
    pub plan: String,
    /// The revision of the plan that the customer keeps. 0: the present one.
    pub pinned_revision: u32,
    /// The first millisecond since the epoch.
    pub from_ms: i64,
    /// The millisecond since the epoch from which the assignment does not apply.
    pub until_ms: Option<i64>,
}

/// A plan that was read.
#[derive(Debug)]
pub(super) struct CompiledPlan {
    pub(super) id: PlanId,
    pub(super) name: Arc<str>,
    /// The rules of the present revision, as revision 0, and of those that are pinned.
    revisions: Vec<(u32, Vec<PlanRule>)>,
}

/// An older revision of a plan that some customers keep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PinnedRevision {
    /// The number of the revision.
    pub revision: u32,
    /// Its rules.
    pub rules: Vec<PlanRule>,
}

impl StoredPlan {
    /// Those of the rules that the plan names, in its present revision or in one that customers keep.
    pub fn named<'r>(
        &self,
        rules: &'r [Arc<ActiveRule>],
    ) -> impl Iterator<Item = &'r ActiveRule> + use<'r> {
        let revisions = self.compile().map(|plan| plan.revisions).unwrap_or_default();
        let is_named = move |active: &&ActiveRule| {
            let mut planned = revisions.iter().flat_map(|(_, rules)| rules);
            planned.any(|planned| planned.names(&active.rule))
        };
        rules.iter().map(Arc::as_ref).filter(is_named)
    }

    /// Replaces the rules of the present revision. A plan that cannot be read stays as it is.
    pub fn set_rules(&mut self, rules: Vec<PlanRule>) {
        let Ok(mut body) = serde_json::from_str::<PlanBody>(&self.body) else { return };
        body.rules = rules;
        self.body = serde_json::to_string(&body).unwrap_or_default().into();
    }

    /// The entry of a revision of the plan for a rule. 0: the present one.
    pub fn rule(&self, pinned_revision: u32, rule: &Rule) -> Option<PlanRule> {
        let revisions = self.compile().ok()?.revisions.into_iter();
        let (_, rules) =
            revisions.into_iter().find(|(revision, _)| *revision == pinned_revision)?;
        rules.into_iter().find(|planned| planned.names(rule))
    }

    pub(super) fn compile(&self) -> Result<CompiledPlan, String> {
        let unreadable = |error: serde_json::Error| error.to_string();
        let body: PlanBody = serde_json::from_str(&self.body).map_err(unreadable)?;
        let pinned: Vec<PinnedRevision> = serde_json::from_str(&self.pinned).map_err(unreadable)?;
        let id = self.id.parse().map_err(|error| format!("{error}"))?;
        let pinned = pinned.into_iter().map(|pinned| (pinned.revision, pinned.rules));
        let revisions = std::iter::once((0, body.rules)).chain(pinned).collect();
        Ok(CompiledPlan { id, name: body.name.into(), revisions })
    }
}

/// The effects of stored plans on a rule. Those that cannot be read or do not fit the rule are left out.
pub fn plan_effects(plans: &[StoredPlan], rule: &Rule) -> Vec<Active> {
    let plans: Vec<_> = plans.iter().filter_map(|plan| plan.compile().ok()).collect();
    effects(&plans, rule).into_iter().filter_map(|(_, effect)| effect.ok()).collect()
}

/// The effects of plans on a rule, with the problems of those that do not fit it.
pub(super) fn effects(
    plans: &[CompiledPlan],
    rule: &Rule,
) -> Vec<(PlanId, Result<Active, Vec<FieldProblem>>)> {
    let mut effects = Vec::new();
    for plan in plans {
        for (pinned_revision, rules) in &plan.revisions {
            let Some(planned) = rules.iter().find(|planned| planned.names(rule)) else { continue };
            let plan_ref = PlanRef { plan: plan.id, pinned_revision: *pinned_revision };
            let effect = planned.effect(rule);
            effects.push((plan.id, effect.map(|effect| Active::of_plan(plan_ref, effect))));
        }
    }
    effects
}

impl StoredAssignment {
    /// `None` if it cannot be read.
    pub(super) fn compile(&self) -> Option<Assignment> {
        let customer = SubjectKey(u128::from_str_radix(&self.customer, 16).ok()?);
        let plan = PlanRef { plan: self.plan.parse().ok()?, pinned_revision: self.pinned_revision };
        let until = self.until_ms.map(Timestamp::from_millis);
        Some(Assignment::new(customer, plan, Timestamp::from_millis(self.from_ms), until))
    }
}

impl From<Assignment> for StoredAssignment {
    fn from(assignment: Assignment) -> Self {
        let plan = assignment.plan();
        Self {
            customer: assignment.customer().to_hex(),
            plan: plan.plan.to_string(),
            pinned_revision: plan.pinned_revision,
            from_ms: assignment.from().as_millis(),
            until_ms: assignment.until().map(Timestamp::as_millis),
        }
    }
}
