//! Assignments of customers to plans: `GET, POST /tenants/{tenant}/assignments`, `POST …/bulk`, and `DELETE` of one

mod placement;

use std::collections::{BTreeMap, HashMap, HashSet};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;
use weir_domain::ceilings::Ceiling;
use weir_domain::customers::customer_key;
use weir_domain::email::EmailAddress;
use weir_domain::id::{AssignmentId, PlanId};
use weir_domain::names;
use weir_http::json::Json;
use weir_http::params::{Path, Query};
use weir_http::problem::Problem;
use weir_store::{AssignmentFilter, AssignmentRow, NewAssignment};
use weir_wire::page::Page;
use weir_wire::plans::{
    AssignmentAnswer, AssignmentBody, BULK_ASSIGNMENTS_MAX, BulkAssignmentsAnswer,
    BulkAssignmentsBody,
};
use weir_wire::problem::{ErrorCode, FieldProblem};

use self::placement::Placement;
use crate::actor::{By, Editor, Viewer};
use crate::answers::to_value;
use crate::ceilings;
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::input::{Input, Once};
use crate::listing::{List, ListQuery};
use crate::plans::{customer_attribute, plan_filter};
use crate::specs;
use crate::state::ControlState;

/// The most invalid assignments that one answer names.
const REPORTED_MAX: usize = 20;

/// The assignments to list.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AssignmentQuery {
    /// Only those of this customer.
    customer: Option<String>,
    /// Only those to this plan: `plan_…`
    plan: Option<String>,
    /// Whether to list those that have ended, too.
    #[param(default = false)]
    ended: Option<bool>,
    /// The maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// The assignments of customers to plans, newest first.
#[utoipa::path(get, path = "/tenants/{tenant}/assignments", operation_id = "assignments_list", tag = "plans",
    params(("tenant" = String, Path, description = "`tenant_…`"), AssignmentQuery),
    responses((status = 200, description = "The assignments", body = Page<AssignmentAnswer>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
    Query(query): Query<AssignmentQuery>,
) -> Result<Json<Page<AssignmentAnswer>>, ControlError> {
    let tenant_id = caller.tenant_id;
    let AssignmentQuery { customer, plan, ended, limit, cursor } = query;
    let plan_id = plan_filter(plan.as_deref())?;
    if let Some(Err(reason)) = customer.as_deref().map(names::value) {
        return Err(Problem::invalid_field("customer", reason).into());
    }
    let ended = ended == Some(true);
    let of = [customer.as_deref(), plan.as_deref()].map(|part| format!("{part:?}"));
    let of = ["assignments", &tenant_id.to_string(), &of[0], &of[1], &ended.to_string()];
    let list = List::new(&of, ListQuery { limit, cursor })?;
    let page = list.page(|id: String| id.parse().ok())?;
    let not_ended_at = (!ended).then(|| control.clock.now());
    let filter = AssignmentFilter { customer, plan_id, not_ended_at };
    let mut tx = control.reading("assignments.list", &caller).await?;
    let listing = tx.assignments().list(tenant_id, &filter, &page).await?;
    Ok(Json(list.answer(listing, |row| row.id.to_string(), |row| assignment_answer(&row))))
}

/// Assign a customer to a plan, at once or from a time. The present plan of the customer ends then. Units that the customer has used
/// stay used, because the counters are those of the rules.
#[utoipa::path(post, path = "/tenants/{tenant}/assignments", operation_id = "assignments_create", tag = "plans",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = AssignmentBody,
    responses(
        (status = 201, description = "Assigned", body = AssignmentAnswer),
        (status = 409, description = "The tenant has reached its limit of assignments, or has no `customer_attribute`"),
    ))]
pub(crate) async fn create(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    Input { body, once }: Input<AssignmentBody>,
) -> Result<Response, ControlError> {
    let mut change = control.change("assignments.create", caller, once).await?;
    let bodies = std::slice::from_ref(&body);
    let id = assign(&control, &mut change, bodies, |_, field| field).await?[0];
    let row = change.tx.assignments().find(change.caller.tenant_id, id).await?;
    let answer = assignment_answer(&row.ok_or_else(Problem::not_found)?);
    let object = Object::new("assignment", &id);
    change.audit("assignment.create", object, None, Some(to_value(&body)?));
    change.answer(StatusCode::CREATED, &answer).await
}

/// Assign up to 5,000 customers to plans: all of them, or none.
#[utoipa::path(post, path = "/tenants/{tenant}/assignments/bulk", operation_id = "assignments_bulk", tag = "plans",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = BulkAssignmentsBody,
    responses(
        (status = 200, description = "Assigned", body = BulkAssignmentsAnswer),
        (status = 409, description = "The tenant has reached its limit of assignments, or has no `customer_attribute`"),
    ))]
pub(crate) async fn bulk(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    Input { body, once }: Input<BulkAssignmentsBody>,
) -> Result<Response, ControlError> {
    let bodies = &body.assignments;
    if !(1..=BULK_ASSIGNMENTS_MAX).contains(&bodies.len()) {
        let reason = format!("must hold from 1 to {BULK_ASSIGNMENTS_MAX} assignments");
        return Err(Problem::invalid_field("assignments", reason).into());
    }
    let mut change = control.change("assignments.bulk", caller, once).await?;
    let named = |at, field| format!("assignments[{at}].{field}");
    let created = assign(&control, &mut change, bodies, named).await?.len() as u64;
    let mut by_plan: BTreeMap<&str, u64> = BTreeMap::new();
    for body in bodies {
        *by_plan.entry(&body.plan).or_default() += 1;
    }
    let object = Object::new("tenant", &change.caller.tenant_id);
    change.audit("assignment.bulk", object, None, Some(json!({ "created": by_plan })));
    // The commit sets the version.
    change.answer(StatusCode::OK, &BulkAssignmentsAnswer { created, rulebook_version: 0 }).await
}

/// End an assignment at once; one that has not begun never begins. The limits of the rules apply to the customer again.
#[utoipa::path(delete, path = "/tenants/{tenant}/assignments/{assignment}", operation_id = "assignments_delete", tag = "plans",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("assignment" = String, Path, description = "`assignment_…`"),
    ),
    responses(
        (status = 204, description = "Ended"),
        (status = 409, description = "It has ended before"),
    ))]
pub(crate) async fn delete(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    Path((_, assignment)): Path<(String, String)>,
) -> Result<Response, ControlError> {
    let id: AssignmentId = specs::parsed(&assignment)?;
    let mut change = control.change("assignments.delete", caller, Once::not_stored()).await?;
    let tenant_id = change.caller.tenant_id;
    let row = change.tx.assignments().find(tenant_id, id).await?.ok_or_else(Problem::not_found)?;
    if row.ends_at.is_some_and(|end| end <= change.now || end == row.starts_at) {
        return Err(Problem::new(ErrorCode::Conflict, "the assignment has ended before").into());
    }
    let end = change.now.max(row.starts_at);
    change.tx.assignments().end_many(tenant_id, &[(id, end)]).await?;
    let before = to_value(&assignment_answer(&row))?;
    change.audit("assignment.delete", Object::new("assignment", &id), Some(before), None);
    change.done().await
}

/// Assigns customers, and ends their present assignments. `named` is the name of a field of the assignment at a position.
async fn assign(
    control: &ControlState,
    change: &mut Change,
    bodies: &[AssignmentBody],
    named: impl Fn(usize, String) -> String,
) -> Result<Vec<AssignmentId>, ControlError> {
    let tenant_id = change.caller.tenant_id;
    let attribute = customer_attribute(change).await?;
    let plans = change.tx.plans().served(tenant_id).await?;
    let plans: HashMap<String, PlanId> =
        plans.into_iter().map(|plan| (plan.id.to_string(), plan.id)).collect();
    let keys: Vec<_> = bodies.iter().map(|body| customer_key(&attribute, &body.customer)).collect();
    let rows = change.tx.assignments().of_customers(tenant_id, &keys, change.now).await?;
    let mut of_customer: HashMap<String, Vec<AssignmentRow>> = HashMap::new();
    for row in rows {
        of_customer.entry(row.customer.clone()).or_default().push(row);
    }
    let (mut new, mut ends) = (Vec::with_capacity(bodies.len()), Vec::new());
    let mut wrong: Vec<FieldProblem> = Vec::new();
    let mut customers = HashSet::new();
    for (at, (body, customer_key)) in bodies.iter().zip(keys).enumerate() {
        let mut problems = body.problems(change.now);
        if !customers.insert(&body.customer) {
            problems.push(FieldProblem::new("customer", "has another assignment in the request"));
        }
        let plan_id = plans.get(&body.plan).copied();
        if plan_id.is_none() {
            problems.push(FieldProblem::new("plan", "is not a plan of this tenant"));
        }
        let before = of_customer.get(&body.customer).map(Vec::as_slice).unwrap_or_default();
        match (plan_id, Placement::new(before, body, change.now)) {
            (Some(plan_id), Ok(placement)) if problems.is_empty() => {
                ends.extend(placement.ends);
                let ended =
                    placement.ends.and_then(|(id, _)| before.iter().find(|row| row.id == id));
                let email = match &body.email {
                    None => ended.and_then(|row| row.email.clone()),
                    Some(given) => EmailAddress::parse(given).ok().map(EmailAddress::into_string),
                };
                new.push(NewAssignment {
                    id: control.id(AssignmentId::new),
                    customer: body.customer.clone(),
                    customer_key,
                    plan_id,
                    starts_at: placement.starts_at,
                    ends_at: placement.ends_at,
                    note: body.note.clone().unwrap_or_default(),
                    email,
                    // As other objects of a set that people edit.
                    managed_by: ended.and_then(|row| row.managed_by.clone()),
                });
            }
            (_, placement) => {
                problems.extend(placement.err().filter(|_| problems.is_empty()));
                wrong.extend(problems.into_iter().map(|problem| FieldProblem {
                    field: named(at, problem.field),
                    reason: problem.reason,
                }));
            }
        }
        if wrong.len() >= REPORTED_MAX {
            break;
        }
    }
    if !wrong.is_empty() {
        return Err(Problem::invalid(wrong).into());
    }
    change.tx.assignments().end_many(tenant_id, &ends).await?;
    insert(change, &new).await?;
    Ok(new.into_iter().map(|new| new.id).collect())
}

/// Inserts assignments, within the ceiling of the tenant.
pub(crate) async fn insert(change: &mut Change, new: &[NewAssignment]) -> Result<(), ControlError> {
    let tenant_id = change.caller.tenant_id;
    change.tx.assignments().insert_many(tenant_id, new, change.now).await?;
    let count = change.tx.assignments().count(tenant_id, change.now).await?;
    let most = change.ceilings.get(Ceiling::Assignments);
    if count > most {
        return Err(ceilings::reached(Ceiling::Assignments, most, count).into());
    }
    Ok(())
}

/// An assignment in JSON.
pub(crate) fn assignment_answer(row: &AssignmentRow) -> AssignmentAnswer {
    AssignmentAnswer {
        id: row.id.to_string(),
        customer: row.customer.clone(),
        plan: row.plan_id.to_string(),
        pinned_revision: Some(row.pinned_revision).filter(|revision| *revision != 0),
        from: row.starts_at.into(),
        until: row.ends_at.map(Into::into),
        note: row.note.clone(),
        email: row.email.clone(),
        managed_by: row.managed_by.clone(),
        rulebook_version: row.rulebook_version,
        created_at: row.created_at.into(),
    }
}
