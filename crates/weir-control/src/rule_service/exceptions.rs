//! The exceptions from the limits of rules: overrides of subjects, and the plans of customers.

use std::sync::Arc;

use weir_domain::customers::{Assignment, Customers, PlanRef};
use weir_domain::id::TenantId;
use weir_domain::overrides::Overrides;
use weir_domain::rule::Rule;
use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_store::{OverrideRow, ServedPlan, Tx};
use weir_wire::plans::PlanRule;
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
        let tenant = tx.tenants().find(tenant_id).await?.ok_or_else(Problem::not_found)?;
        let Some(attribute) = tenant.customer_attribute else { return Ok(self) };
        let known = Customers::new(&attribute);
        let keys: Vec<_> =
            customers(&attribute).iter().map(|customer| known.key_of(customer)).collect();
        let rows = tx.assignments().of_customers(tenant_id, &keys, now).await?;
        if rows.is_empty() {
            return Ok(self);
        }
        let assignments = rows.iter().map(|row| {
            let pinned_revision = u32::try_from(row.pinned_revision).unwrap_or(u32::MAX);
            let plan = PlanRef { plan: row.plan_id, pinned_revision };
            Assignment::new(known.key_of(&row.customer), plan, row.starts_at, row.ends_at)
        });
        let customers = Arc::new(known.with_changes(assignments.collect()));
        let plans = tx.plans().served(tenant_id).await?.into_iter().map(stored).collect();
        Ok(Self { plans: Some((customers, plans)), ..self })
    }

    /// The overrides with the plans that name `rule`.
    pub(super) fn of_rule(&self, rule: &Rule, overrides: Overrides) -> Overrides {
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

fn stored(plan: ServedPlan) -> StoredPlan {
    StoredPlan { id: plan.id.to_string(), body: plan.spec, pinned: plan.pinned }
}
