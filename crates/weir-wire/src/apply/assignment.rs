//! A desired assignment of a customer to a plan. The name of the plan stands for its id.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plans::customer_problems;
use crate::problem::FieldProblem;
use crate::time::DateTime;

/// A desired assignment of a customer to a plan. All those of a customer together say which plans it is on from the first of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ApplyAssignment {
    /// The customer: the value of the customer attribute in checks.
    pub customer: String,
    /// The name of the plan: one of the request, or a stored one.
    pub plan: String,
    /// The time from which the customer is on the plan; left out, or in the past: at once, in place of its present plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<DateTime>,
    /// The time from which the customer is not on it any more; left out: when its next assignment begins, or never. An assignment
    /// that has ended is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<DateTime>,
    /// A text for people; at most 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// An assignment that overlaps another one of its customer. Both are positions in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overlap {
    /// The assignment with the wrong time.
    pub at: usize,
    /// The field of the wrong time.
    pub field: &'static str,
    /// The other one.
    pub with: usize,
}

impl ApplyAssignment {
    /// All problems of its fields that can be found without the plan and the other assignments.
    pub fn problems(&self) -> Vec<FieldProblem> {
        let mut wrong = customer_problems(&self.customer, self.note.as_deref());
        if let (Some(from), Some(until)) = (self.from, self.until)
            && until <= from
        {
            wrong.push(FieldProblem::new("until", "must be later than `from`"));
        }
        wrong
    }
}

/// The positions of the assignments of each customer, by time.
pub fn by_customer(assignments: &[ApplyAssignment]) -> BTreeMap<&str, Vec<usize>> {
    let mut customers: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, one) in assignments.iter().enumerate() {
        customers.entry(&one.customer).or_default().push(at);
    }
    for positions in customers.values_mut() {
        positions.sort_by_key(|at| assignments[*at].from);
    }
    customers
}

/// The assignments that overlap the next one of their customer.
pub fn overlaps(assignments: &[ApplyAssignment]) -> Vec<Overlap> {
    let customers = by_customer(assignments);
    let pairs = customers.values().flat_map(|positions| positions.windows(2));
    let overlap = |pair: &[usize]| {
        let (first, next) = (pair[0], pair[1]);
        let begin = assignments[next].from;
        if begin == assignments[first].from {
            let field = if begin.is_none() { "customer" } else { "from" };
            return Some(Overlap { at: next, field, with: first });
        }
        let is_late = assignments[first].until > begin;
        is_late.then_some(Overlap { at: first, field: "until", with: next })
    };
    pairs.filter_map(overlap).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn assignments_of_a_customer_overlap_by_their_times() {
        let found = |times: &[(Option<&str>, Option<&str>)]| {
            let day = |day: Option<&str>| day.map(|day| format!("2026-12-{day}T00:00:00Z"));
            let one = |(from, until): &(Option<&str>, Option<&str>)| json!({ "customer": "acme", "plan": "pro", "from": day(*from), "until": day(*until) });
            let mut all: Vec<Value> = times.iter().map(one).collect();
            all.push(json!({ "customer": "other", "plan": "pro" }));
            let all: Vec<ApplyAssignment> = serde_json::from_value(all.into()).expect("valid");
            let all = overlaps(&all).into_iter().map(|one| (one.at, one.field, one.with));
            all.collect::<Vec<_>>()
        };
        assert_eq!(found(&[(Some("05"), None), (None, None), (Some("03"), Some("04"))]), []);
        assert_eq!(found(&[(None, Some("05")), (Some("05"), None)]), []);
        assert_eq!(found(&[(None, None), (None, Some("05"))]), [(1, "customer", 0)]);
        assert_eq!(found(&[(Some("05"), None), (Some("05"), None)]), [(1, "from", 0)]);
        let late = [(Some("05"), None), (Some("03"), Some("06"))];
        assert_eq!(found(&late), [(1, "until", 0)]);
    }
}
