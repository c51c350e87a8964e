//! The exceptions from the limits of rules: overrides of subjects, and the plans of customers.

use std::sync::Arc;

use weir_domain::counted::Form;
use weir_domain::customers::{Assignment, Customers, PlanRef};
use weir_domain::draft::Action;
use weir_domain::id::{PlanId, TenantId};
use weir_domain::overrides::Overrides;
use weir_domain::rule::Rule;
use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_store::{AssignmentRow, OverrideRow, ServedPlan, Tx};
use weir_wire::plans::PlanRule;
use weir_wire::problem::FieldProblem;
use weir_wire::simulate::{SimulatedAssignment, SimulatedPlan};
use weir_wire::stored::{StoredPlan, plan_effects};

use crate::error::ControlError;

/// Overrides of rules, and the plans of some customers.
#[derive(Debug, Default)]
pub(crate) struct Exceptions {
    /// The overrides.
    pub(crate) overrides: Vec<OverrideRow>,
    plans: Option<(Arc<Customers>, Vec<StoredPlan>)>,
}

impl From<Vec<OverrideRow>> for Exceptions {
    fn from(overrides: Vec<OverrideRow>) -> Self {
        Self { overrides, plans: None }
    }
}

impl Exceptions {
    /// The same with the plans of customers. `customers` returns their names by the attribute that names them.
    pub(crate) async fn with_plans(
        self,
        tx: &mut Tx,
        tenant_id: TenantId,
        now: Timestamp,
        customers: impl FnOnce(&str) -> Vec<String>,
    ) -> Result<Self, ControlError> {
        let Some((known, rows)) = assigned(tx, tenant_id, now, customers).await? else {
            return Ok(self);
        };
        if rows.is_empty() {
            return Ok(self);
        }
        let assignments =
            rows.iter().map(|row| assignment(&known, row, row.starts_at, row.ends_at));
        let customers = Arc::new(known.with_changes(assignments.collect()));
        Ok(Self { plans: Some((customers, plans(tx, tenant_id).await?)), ..self })
    }

    /// The same with the plans that customers have now, as if they always had them.
    pub(crate) async fn with_present_plans(
        self,
        tx: &mut Tx,
        tenant_id: TenantId,
        now: Timestamp,
        customers: impl FnOnce(&str) -> Vec<String>,
    ) -> Result<Self, ControlError> {
        let Some((known, rows)) = assigned(tx, tenant_id, now, customers).await? else {
            return Ok(self);
        };
        let present = rows.iter().filter(|row| row.starts_at <= now);
        let always = present.map(|row| assignment(&known, row, Timestamp::default(), None));
        let customers = Arc::new(known.with_changes(always.collect()));
        Ok(Self { plans: Some((customers, plans(tx, tenant_id).await?)), ..self })
    }

    /// The same with other rules of a plan, and with customers that are always on a plan, or on none. They matter for this rule.
    pub(crate) fn with_changed_plans(
        &self,
        rule: &Rule,
        changed: Option<&SimulatedPlan>,
        moved: &[SimulatedAssignment],
    ) -> Result<Self, Vec<FieldProblem>> {
        let wrong = |field: String, reason: &str| vec![FieldProblem::new(field, reason)];
        let counts =
            |attribute: &str| rule.count_by().iter().any(|counted| counted.attribute == attribute);
        let plans = self.plans.as_ref().filter(|(customers, _)| counts(customers.attribute()));
        let (customers, plans) = plans.ok_or_else(|| {
            wrong("rule.count_by".to_owned(), "must have the `customer_attribute` of the tenant")
        })?;
        let missing = |field: String| move || wrong(field, "is not a plan of this tenant");
        let mut plans = plans.clone();
        if let Some(changed) = changed {
            let own = changed.rules.iter().enumerate().filter(|(_, planned)| planned.names(rule));
            for (at, planned) in own {
                let problems = plan_problems(planned, rule, customers.attribute()).into_iter();
                let inside = |field: String| format!("plan.{field}");
                let inside = problems
                    .map(|problem| problem.at(at))
                    .map(|problem| FieldProblem { field: inside(problem.field), ..problem });
                let inside: Vec<_> = inside.collect();
                if !inside.is_empty() {
                    return Err(inside);
                }
            }
            let named = plans.iter_mut().find(|plan| plan.id == changed.id);
            let named = named.ok_or_else(missing("plan.id".to_owned()))?;
            named.set_rules(changed.rules.clone());
        }
        let mut assignments = Vec::with_capacity(moved.len());
        for (at, moved) in moved.iter().enumerate() {
            let known = |id: &String| plans.iter().any(|plan| plan.id == *id);
            let (plan, until) = match &moved.plan {
                // It ends before it begins.
                None => (PlanId::from_u128(0), Some(Timestamp::default())),
                Some(id) => {
                    let plan = Some(id).filter(|id| known(id)).and_then(|id| id.parse().ok());
                    (plan.ok_or_else(missing(format!("assignments[{at}].plan")))?, None)
                }
            };
            let (key, plan) =
                (customers.key_of(&moved.customer), PlanRef { plan, pinned_revision: 0 });
            assignments.push(Assignment::new(key, plan, Timestamp::default(), until));
        }
        let customers = Arc::new(customers.with_changes(assignments));
        Ok(Self { overrides: self.overrides.clone(), plans: Some((customers, plans)) })
    }

    /// The number of plans, and of their older revisions, that name a rule and fit it.
    pub(crate) fn plans_of(&self, rule: &Rule) -> usize {
        self.plans.as_ref().map_or(0, |(_, plans)| plan_effects(plans, rule).len())
    }

    /// The overrides with the plans that name `rule`.
    pub(crate) fn of_rule(&self, rule: &Rule, overrides: Overrides) -> Overrides {
        match &self.plans {
            None => overrides,
            Some((customers, plans)) => {
                overrides.with_plans(rule, customers, plan_effects(plans, rule))
            }
        }
    }

    /// The entry of a plan for a rule.
    pub(crate) fn planned(&self, plan: PlanRef, rule: &Rule) -> Option<PlanRule> {
        let (_, plans) = self.plans.as_ref()?;
        let id = plan.plan.to_string();
        plans.iter().find(|stored| stored.id == id)?.rule(plan.pinned_revision, rule)
    }
}

/// The attribute that names customers, and their assignments that have not ended; `None` if the tenant names none.
async fn assigned(
    tx: &mut Tx,
    tenant_id: TenantId,
    now: Timestamp,
    customers: impl FnOnce(&str) -> Vec<String>,
) -> Result<Option<(Customers, Vec<AssignmentRow>)>, ControlError> {
    let tenant = tx.tenants().find(tenant_id).await?.ok_or_else(Problem::not_found)?;
    let Some(attribute) = tenant.customer_attribute else { return Ok(None) };
    let known = Customers::new(&attribute);
    let keys: Vec<_> =
        customers(&attribute).iter().map(|customer| known.key_of(customer)).collect();
    let rows = tx.assignments().of_customers(tenant_id, &keys, now).await?;
    Ok(Some((known, rows)))
}

/// A stored assignment between these times.
fn assignment(
    known: &Customers,
    row: &AssignmentRow,
    from: Timestamp,
    until: Option<Timestamp>,
) -> Assignment {
    let pinned_revision = u32::try_from(row.pinned_revision).unwrap_or(u32::MAX);
    let plan = PlanRef { plan: row.plan_id, pinned_revision };
    Assignment::new(known.key_of(&row.customer), plan, from, until)
}

async fn plans(tx: &mut Tx, tenant_id: TenantId) -> Result<Vec<StoredPlan>, ControlError> {
    Ok(tx.plans().served(tenant_id).await?.into_iter().map(stored).collect())
}

/// The problems of what a plan says about a rule.
pub(crate) fn plan_problems(planned: &PlanRule, rule: &Rule, attribute: &str) -> Vec<FieldProblem> {
    let wrong = |reason: String| vec![FieldProblem::new("rule", reason)];
    if rule.action() != Action::Limit {
        return wrong("has no limits that a plan could replace".to_owned());
    }
    let counted = rule.count_by().iter().find(|counted| counted.attribute == attribute);
    match counted {
        None => wrong(format!("must count by the customer attribute `{attribute}`")),
        Some(counted) if counted.form != Form::Plain => {
            wrong(format!("must count `{attribute}` as it is, in no normal form"))
        }
        Some(_) => planned.effect(rule).err().unwrap_or_default(),
    }
}

fn stored(plan: ServedPlan) -> StoredPlan {
    StoredPlan { id: plan.id.to_string(), body: plan.spec, pinned: plan.pinned }
}
