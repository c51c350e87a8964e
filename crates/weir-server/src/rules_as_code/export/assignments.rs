//! Assignments as files have them.

use std::collections::HashMap;

use weir_wire::apply::ApplyAssignment;
use weir_wire::plans::{AssignmentAnswer, PlanAnswer};

/// The assignments to these plans, in the order of customers and times. One that was made at once has no `from`, and the begin of the
/// customer's next one is no `until`.
pub fn wanted(mut found: Vec<AssignmentAnswer>, plans: &[PlanAnswer]) -> Vec<ApplyAssignment> {
    let names: HashMap<_, _> = plans.iter().map(|plan| (&plan.id, &plan.plan.name)).collect();
    // One that was ended before its begin never begins.
    found.retain(|one| one.until != Some(one.from));
    found.sort_by(|one, other| (&one.customer, one.from).cmp(&(&other.customer, other.from)));
    let ends_by_next = |at: usize| {
        found.get(at + 1).is_some_and(|next| {
            next.customer == found[at].customer && Some(next.from) == found[at].until
        })
    };
    let wanted = found.iter().enumerate().filter_map(|(at, one)| {
        Some(ApplyAssignment {
            customer: one.customer.clone(),
            plan: (*names.get(&one.plan)?).clone(),
            from: Some(one.from).filter(|from| *from > one.created_at),
            until: one.until.filter(|_| !ends_by_next(at)),
            note: Some(one.note.clone()).filter(|note| !note.is_empty()),
        })
    });
    wanted.collect()
}
