//! The wanted assignments of a set. Those that end are ended before plans are deleted, and new ones are created when all plans are
//! written.

use std::collections::{BTreeMap, HashMap};

use serde_json::json;
use weir_domain::customers::customer_key;
use weir_domain::id::{AssignmentId, PlanId};
use weir_domain::subject::SubjectKey;
use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_store::{AssignmentRow, NewAssignment, PlanRow, PlanSpec};
use weir_wire::apply::{
    APPLY_ASSIGNMENTS_MAX, ApplyAnswer, ApplyBody, ObjectKind, ObjectName, PlanWarning,
    UpdatedObject, by_customer, overlaps,
};
use weir_wire::plans::ASSIGNMENTS_PER_CUSTOMER_MAX;
use weir_wire::problem::{ErrorCode, FieldProblem};

use crate::apply::assignments::schedule::{Schedule, Wanted, wanted};
use crate::apply::comparison::{Comparison, compare, differences, refuse_wrong, updated};
use crate::apply::plan::Planned as _;
use crate::assignments::insert;
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::plans::customer_attribute;
use crate::state::ControlState;

mod schedule;

/// The most problems that one answer names.
const REPORTED_MAX: usize = 50;

/// The changes of the assignments of a set.
#[derive(Default)]
pub(super) struct Pending<'b> {
    ends: Vec<(AssignmentId, Timestamp)>,
    stay: Vec<AssignmentRow>,
    /// The customers and their new assignments.
    new: Vec<(&'b str, SubjectKey, Wanted<'b>)>,
    created: Vec<ObjectName>,
    updated: Vec<UpdatedObject>,
    warnings: Vec<PlanWarning>,
    unchanged: u64,
}

/// Checks what needs no stored object.
pub(super) fn checked(body: &ApplyBody) -> Result<(), Problem> {
    let all = &body.assignments;
    refuse_wrong("assignments", all.len(), APPLY_ASSIGNMENTS_MAX, || {
        let problems = all.iter().enumerate().flat_map(|(at, one)| {
            one.problems().into_iter().map(move |problem| below(at, problem))
        });
        let overlaps = overlaps(all).into_iter().map(|one| {
            let reason = format!("overlaps assignments[{}] of the customer", one.with);
            below(one.at, FieldProblem::new(one.field, reason))
        });
        problems.chain(overlaps).take(REPORTED_MAX).collect()
    })
}

/// Plans the assignments, and ends those that end: before plans are deleted, which must have no customers. With `prune`, also those
/// of the set whose customers the request does not name. `deletes` are the plans that will be deleted.
pub(super) async fn end<'b>(
    change: &mut Change,
    body: &'b ApplyBody,
    deletes: &[PlanRow],
    answer: &mut ApplyAnswer,
) -> Result<Pending<'b>, ControlError> {
    let mut pending = Pending::default();
    if body.prune && !change.caller.namespaces.are_restricted() {
        pending.prune(change, body, answer).await?;
    }
    if !body.assignments.is_empty() {
        pending.plan(change, body, deletes).await?;
    }
    if !pending.ends.is_empty() {
        let tenant_id = change.caller.tenant_id;
        change.tx.assignments().end_many(tenant_id, &pending.ends).await?;
    }
    Ok(pending)
}

/// Writes the assignments that stay or are new, and adds all to the answer.
pub(super) async fn write(
    control: &ControlState,
    change: &mut Change,
    body: &ApplyBody,
    pending: Pending<'_>,
    answer: &mut ApplyAnswer,
) -> Result<(), ControlError> {
    let Pending { ends, stay, new, created, updated, warnings, unchanged } = pending;
    let tenant_id = change.caller.tenant_id;
    answer.created.extend(created);
    answer.updated.extend(updated);
    answer.warnings.extend(warnings);
    answer.unchanged += unchanged;
    if !stay.is_empty() {
        change.tx.assignments().rewrite_many(tenant_id, &stay, &body.set).await?;
    }
    let mut by_plan: BTreeMap<&str, u64> = BTreeMap::new();
    if !new.is_empty() {
        let plans = PlanSpec::stored(change, &[], &body.set).await?;
        let ids: HashMap<_, _> = plans.iter().map(|row| (row.name.as_str(), row.id)).collect();
        let mut rows = Vec::with_capacity(new.len());
        for (customer, customer_key, one) in new {
            *by_plan.entry(one.plan).or_default() += 1;
            rows.push(NewAssignment {
                id: control.id(AssignmentId::new),
                customer: customer.to_owned(),
                customer_key,
                plan_id: *ids.get(one.plan).ok_or_else(Problem::not_found)?,
                starts_at: one.starts_at,
                ends_at: one.ends_at,
                note: one.note.to_owned(),
                email: one.email,
                managed_by: Some(body.set.clone()),
            });
        }
        insert(change, &rows).await?;
    }
    if !(ends.is_empty() && stay.is_empty() && by_plan.is_empty()) {
        let after = json!({ "set": body.set, "created": by_plan, "changed": stay.len(), "ended": ends.len() });
        change.audit("assignment.bulk", Object::new("tenant", &tenant_id), None, Some(after));
    }
    Ok(())
}

impl<'b> Pending<'b> {
    async fn prune(
        &mut self,
        change: &mut Change,
        body: &ApplyBody,
        answer: &mut ApplyAnswer,
    ) -> Result<(), ControlError> {
        let named: Vec<_> = by_customer(&body.assignments).into_keys().map(str::to_owned).collect();
        let (tenant_id, now) = (change.caller.tenant_id, change.now);
        let most = APPLY_ASSIGNMENTS_MAX + 1;
        let rows = change.tx.assignments().of_set(tenant_id, &body.set, &named, now, most).await?;
        if rows.len() == most {
            let detail = format!(
                "the set has more than {APPLY_ASSIGNMENTS_MAX} assignments that the request does not name, and `prune` ends no more"
            );
            return Err(Problem::new(ErrorCode::Conflict, detail).into());
        }
        self.ends.extend(rows.iter().map(|row| (row.id, row.starts_at.max(now))));
        let mut customers: Vec<_> = rows.into_iter().map(|row| row.customer).collect();
        customers.dedup();
        answer.deleted.extend(customers.iter().map(|customer| object(customer)));
        Ok(())
    }

    async fn plan(
        &mut self,
        change: &mut Change,
        body: &'b ApplyBody,
        deletes: &[PlanRow],
    ) -> Result<(), ControlError> {
        let attribute = customer_attribute(change).await?;
        let (tenant_id, now) = (change.caller.tenant_id, change.now);
        let plans = PlanSpec::stored(change, &[], &body.set).await?;
        let ids = ids_by_name(&plans, body, deletes);
        let names: HashMap<_, _> = plans.iter().map(|row| (row.id, row.name.clone())).collect();
        let customers = by_customer(&body.assignments);
        let keys: Vec<_> = customers.keys().map(|name| customer_key(&attribute, name)).collect();
        let mut stored: HashMap<String, Vec<AssignmentRow>> = HashMap::new();
        for row in change.tx.assignments().of_customers(tenant_id, &keys, now).await? {
            stored.entry(row.customer.clone()).or_default().push(row);
        }
        let mut wrong = unknown_plans(body, &ids);
        for ((customer, positions), key) in customers.into_iter().zip(keys) {
            let plan_id = |name: &str| ids.get(name).copied().flatten();
            let wanted = wanted(&body.assignments, &positions, plan_id, now);
            if wanted.len() < positions.len() {
                let ObjectName { namespace, name, .. } = object(customer);
                let text = "an assignment has ended; remove it from the files".to_owned();
                self.warnings.push(PlanWarning { namespace, name, text });
            }
            if wanted.is_empty() {
                self.unchanged += 1;
                continue;
            }
            let rows = stored.remove(customer).unwrap_or_default();
            let schedule = Schedule::new(wanted, rows, now);
            if let Err(reason) = self.add((customer, key), schedule, body, &names, now) {
                wrong.push(below(positions[0], FieldProblem::new("customer", reason)));
            }
            if wrong.len() >= REPORTED_MAX {
                break;
            }
        }
        if wrong.is_empty() { Ok(()) } else { Err(Problem::invalid(wrong).into()) }
    }

    /// Adds the changes of a customer, or returns the reason why its assignments must not be changed.
    fn add(
        &mut self,
        (customer, key): (&'b str, SubjectKey),
        schedule: Schedule<'b>,
        body: &ApplyBody,
        names: &HashMap<PlanId, String>,
        now: Timestamp,
    ) -> Result<(), String> {
        if schedule.count() > ASSIGNMENTS_PER_CUSTOMER_MAX {
            return Err(format!(
                "has more than {ASSIGNMENTS_PER_CUSTOMER_MAX} assignments that have not ended"
            ));
        }
        let set = Some(&body.set);
        let object = object(customer);
        if let Some(first) = schedule.before.first() {
            let mut owners = schedule.before.iter().map(|row| row.managed_by.as_ref());
            let owner = owners.find(|owner| *owner != set).unwrap_or(set);
            let compared = compare(owner, schedule.is_unchanged(), body);
            let compared = compared.map_err(|reason| format!("has an assignment {reason}"))?;
            let Comparison::Changed { adopted } = compared else {
                self.unchanged += 1;
                return Ok(());
            };
            let name = |id: PlanId| names.get(&id).cloned().unwrap_or_default();
            let (before, after) = schedule.shown(name, now);
            let (before, after) = (json!({ "plans": before }), json!({ "plans": after }));
            let changes = differences(&before, &after);
            let changed_at = schedule.before.iter().map(|row| row.created_at).max();
            let changed_at = changed_at.unwrap_or(now);
            self.updated.push(updated(object, &first.id, adopted, changes, changed_at));
        } else {
            self.created.push(object);
        }
        let Schedule { before, stay, ends, new, .. } = schedule;
        let is_written =
            |row: &AssignmentRow| row.managed_by.as_ref() == set && before.contains(row);
        self.stay.extend(stay.into_iter().filter(|row| !is_written(row)));
        self.ends.extend(ends);
        self.new.extend(new.into_iter().map(|one| (customer, key, one)));
        Ok(())
    }
}

/// The ids of the plans that the tenant has after the request, by their names then. `None` is the id of a new one.
fn ids_by_name(
    stored: &[PlanRow],
    body: &ApplyBody,
    deletes: &[PlanRow],
) -> HashMap<String, Option<PlanId>> {
    let stays = |row: &&PlanRow| deletes.iter().all(|deleted| deleted.id != row.id);
    let stored = stored.iter().filter(stays);
    let mut ids: HashMap<_, _> = stored.map(|row| (row.name.clone(), Some(row.id))).collect();
    for wanted in &body.plans {
        let former = wanted.renamed_from.as_ref().and_then(|former| ids.remove(former));
        ids.entry(wanted.plan.name.clone()).or_insert(former.flatten());
    }
    ids
}

fn unknown_plans(body: &ApplyBody, ids: &HashMap<String, Option<PlanId>>) -> Vec<FieldProblem> {
    let all = body.assignments.iter().enumerate();
    let unknown = all.filter(|(_, one)| !ids.contains_key(&one.plan)).map(|(at, _)| {
        let reason = "is neither a plan of the request nor a stored one";
        below(at, FieldProblem::new("plan", reason))
    });
    unknown.take(REPORTED_MAX).collect()
}

/// The problem of a field of an assignment, with its path in the request.
fn below(at: usize, problem: FieldProblem) -> FieldProblem {
    FieldProblem::new(format!("assignments[{at}].{}", problem.field), problem.reason)
}

fn object(customer: &str) -> ObjectName {
    let (namespace, name) = (String::new(), customer.to_owned());
    ObjectName { kind: ObjectKind::Assignment, namespace, name }
}
