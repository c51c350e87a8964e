//! Plans: limits that replace those of rules, for the customers that are on them.

use weir_domain::id::PlanId;
use weir_domain::rule::Rule;
use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_store::{PlanBody as StoredBody, PlanRow, PlanSpec, Tx};
use weir_wire::plans::{
    PINNED_REVISIONS_MAX, PLANS_PER_TENANT_MAX, PinnedRevisionCount, PlanAnswer, PlanBody, PlanRule,
};
use weir_wire::problem::{ErrorCode, FieldProblem};
use weir_wire::stored::PinnedRevision;

use crate::actor::Caller;
use crate::answers::to_value;
use crate::change::Change;
use crate::error::ControlError;
use crate::rule_service::{CheckedRule, plan_problems};
use crate::specs::{Authored, Kind, delete_stored};

pub(crate) mod read;
pub(crate) mod write;

impl Kind for PlanSpec {
    const WORD: &'static str = "plan";
    const ID: fn(Timestamp, u128) -> PlanId = PlanId::new;
    type Answer = PlanAnswer;

    /// A plan has no namespace: callers that are restricted to some are refused before.
    async fn admit(_: &mut Tx, _: &Caller, _: &PlanRow) -> Result<(), ControlError> {
        Ok(())
    }

    fn answer(row: &PlanRow) -> Result<PlanAnswer, Problem> {
        plan_answer(row)
    }
}

impl Authored for PlanSpec {
    type Wire = PlanBody;
    type Checked = PlanBody;

    fn check(body: PlanBody) -> Result<PlanBody, Problem> {
        let wrong = body.problems();
        if wrong.is_empty() { Ok(body) } else { Err(Problem::invalid(wrong)) }
    }

    fn namespace(_: &PlanBody) -> &'static str {
        ""
    }

    async fn new_body(
        change: &mut Change,
        _: PlanId,
        checked: &PlanBody,
    ) -> Result<StoredBody, ControlError> {
        let count = change.tx.plans().count(change.caller.tenant_id).await?;
        if count >= PLANS_PER_TENANT_MAX {
            let detail =
                format!("the tenant has {count} plans; {PLANS_PER_TENANT_MAX} is the most");
            return Err(Problem::new(ErrorCode::Conflict, detail).into());
        }
        stored(change, checked, Vec::new()).await
    }

    async fn edited_body(
        change: &mut Change,
        before: &PlanRow,
        checked: &PlanBody,
    ) -> Result<StoredBody, ControlError> {
        stored(change, checked, pinned(before)?).await
    }
}

/// A plan in JSON.
pub(crate) fn plan_answer(row: &PlanRow) -> Result<PlanAnswer, Problem> {
    let older = row.customers.iter().filter(|(revision, _)| **revision != 0);
    Ok(PlanAnswer {
        id: row.id.to_string(),
        plan: serde_json::from_value(row.spec.clone()).map_err(Problem::internal)?,
        customers: row.customers.get(&0).copied().unwrap_or_default(),
        pinned: older
            .map(|(&revision, &customers)| PinnedRevisionCount { revision, customers })
            .collect(),
        managed_by: row.managed_by.clone(),
        edited: row.edited,
        revision: row.revision,
        rulebook_version: row.rulebook_version,
        created_at: row.created_at.into(),
        updated_at: row.updated_at.into(),
    })
}

/// The attribute that names the customers of the caller's tenant. Refuses a tenant that names none.
pub(crate) async fn customer_attribute(change: &mut Change) -> Result<String, ControlError> {
    let tenant = change.tx.tenants().find(change.caller.tenant_id).await?;
    let missing = || {
        let detail = "the tenant has no `customer_attribute`; set it first";
        Problem::new(ErrorCode::Conflict, detail)
    };
    Ok(tenant.ok_or_else(Problem::not_found)?.customer_attribute.ok_or_else(missing)?)
}

/// The plan of a filter.
pub(crate) fn plan_filter(plan: Option<&str>) -> Result<Option<PlanId>, Problem> {
    let plan = plan.map(str::parse).transpose();
    plan.map_err(|_| Problem::invalid_field("plan", "must be the id of a plan"))
}

/// The older revisions of a plan that customers still keep.
pub(super) fn pinned(row: &PlanRow) -> Result<Vec<PinnedRevision>, Problem> {
    let mut pinned: Vec<PinnedRevision> =
        serde_json::from_value(row.pinned.clone()).map_err(Problem::internal)?;
    pinned.retain(|pinned| row.customers.contains_key(&pinned.revision.into()));
    Ok(pinned)
}

/// The columns of a plan, of which customers keep these older revisions. Refuses a plan that does not fit its rules.
async fn stored(
    change: &mut Change,
    body: &PlanBody,
    pinned: Vec<PinnedRevision>,
) -> Result<StoredBody, ControlError> {
    if pinned.len() > PINNED_REVISIONS_MAX {
        let detail = format!(
            "customers keep {PINNED_REVISIONS_MAX} older revisions of the plan, which is the most"
        );
        return Err(Problem::new(ErrorCode::Conflict, detail).into());
    }
    let attribute = customer_attribute(change).await?;
    let mut wrong = Vec::new();
    for (at, planned) in body.rules.iter().enumerate() {
        let tenant_id = change.caller.tenant_id;
        let row = change.tx.rules().named(tenant_id, &planned.namespace, &planned.rule).await?;
        let problems = match row {
            None => vec![FieldProblem::new("rule", "is not a rule of this namespace")],
            Some(row) => plan_problems(planned, &CheckedRule::stored(&row)?.rule, &attribute),
        };
        wrong.extend(problems.into_iter().map(|problem| problem.at(at)));
    }
    if !wrong.is_empty() {
        return Err(Problem::invalid(wrong).into());
    }
    Ok(StoredBody { name: body.name.clone(), spec: to_value(body)?, pinned: to_value(&pinned)? })
}

/// Deletes a plan, if it still has the expected revision. Refuses one that customers are on, or will be.
pub(crate) async fn delete_without_customers(
    change: &mut Change,
    row: &PlanRow,
    expected: Option<u64>,
) -> Result<(), ControlError> {
    let customers: u64 = row.customers.values().sum();
    if customers > 0 {
        let detail = format!("{customers} assignments to the plan `{}` have not ended", row.name);
        return Err(Problem::new(ErrorCode::Conflict, detail).into());
    }
    delete_stored::<PlanSpec>(change, row.id, expected).await
}

/// Refuses to delete or rename a rule that plans name, or to edit it so that they do not fit any more. `after` is the rule after
/// the edit.
pub(crate) async fn admit_edit(
    change: &mut Change,
    (namespace, name): (&str, &str),
    after: Option<&Rule>,
) -> Result<(), ControlError> {
    let tenant_id = change.caller.tenant_id;
    let plans = change.tx.plans().naming(tenant_id, namespace, name).await?;
    if plans.is_empty() {
        return Ok(());
    }
    let attribute = customer_attribute(change).await?;
    for row in &plans {
        let plan: PlanBody = serde_json::from_value(row.spec.clone()).map_err(Problem::internal)?;
        let revisions = pinned(row)?.into_iter().flat_map(|pinned| pinned.rules).chain(plan.rules);
        let mut planned =
            revisions.filter(|planned| planned.rule == name && planned.namespace == namespace);
        let fits = |planned: PlanRule| {
            after.is_some_and(|rule| {
                planned.names(rule) && plan_problems(&planned, rule, &attribute).is_empty()
            })
        };
        if !planned.all(fits) {
            let detail = format!(
                "the plan `{}` names the rule, and would not fit it any more: take the rule out of the plan first",
                row.name
            );
            return Err(Problem::new(ErrorCode::Conflict, detail).into());
        }
    }
    Ok(())
}
