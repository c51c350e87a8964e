//! The place of a new assignment among those of its customer, which do not overlap.

use weir_domain::id::AssignmentId;
use weir_domain::time::Timestamp;
use weir_store::AssignmentRow;
use weir_wire::plans::{ASSIGNMENTS_PER_CUSTOMER_MAX, AssignmentBody};
use weir_wire::problem::FieldProblem;
use weir_wire::time::DateTime;

/// The times of a new assignment, and what ends with its begin.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Placement {
    pub(super) starts_at: Timestamp,
    pub(super) ends_at: Option<Timestamp>,
    /// The assignment that ends earlier, and its new end.
    pub(super) ends: Option<(AssignmentId, Timestamp)>,
}

impl Placement {
    /// `before` are the assignments of the customer that have not ended, by time. One at once replaces the present one; one with a
    /// time ends an assignment that has no end.
    pub(super) fn new(
        before: &[AssignmentRow],
        body: &AssignmentBody,
        now: Timestamp,
    ) -> Result<Self, FieldProblem> {
        if before.len() >= ASSIGNMENTS_PER_CUSTOMER_MAX {
            let reason = format!(
                "has {ASSIGNMENTS_PER_CUSTOMER_MAX} assignments that have not ended, which is the most"
            );
            return Err(FieldProblem::new("customer", reason));
        }
        let starts_at = body.from.map_or(now, |from| from.0);
        let overlaps = |field: &str, row: &AssignmentRow| {
            let from = DateTime(row.starts_at).text();
            FieldProblem::new(field, format!("overlaps {}, which begins at {from}", row.id))
        };
        let present = before.iter().rev().find(|row| row.starts_at <= starts_at);
        let present = present.filter(|row| row.ends_at.is_none_or(|end| end > starts_at));
        let ends = match present {
            None => None,
            Some(row)
                if body.from.is_none() || (row.ends_at.is_none() && row.starts_at < starts_at) =>
            {
                Some((row.id, starts_at))
            }
            Some(row) => return Err(overlaps("from", row)),
        };
        let next = before.iter().find(|row| row.starts_at > starts_at);
        let until = body.until.map(|until| until.0);
        let ends_at = match (until, next) {
            (Some(until), Some(row)) if until > row.starts_at => {
                return Err(overlaps("until", row));
            }
            (Some(until), _) => Some(until),
            (None, next) => next.map(|row| row.starts_at),
        };
        Ok(Self { starts_at, ends_at, ends })
    }
}

#[cfg(test)]
mod tests {
    use weir_domain::id::PlanId;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_763_726_400_000);

    fn at(ms: i64) -> Timestamp {
        NOW.plus_ms(ms)
    }

    fn row(id: u128, starts: i64, ends: Option<i64>) -> AssignmentRow {
        AssignmentRow {
            id: AssignmentId::from_u128(id),
            customer: "acme".to_owned(),
            plan_id: PlanId::from_u128(1),
            pinned_revision: 0,
            starts_at: at(starts),
            ends_at: ends.map(at),
            note: String::new(),
            email: None,
            managed_by: None,
            rulebook_version: 1,
            created_at: NOW,
        }
    }

    /// The start, the end, and the assignment that ends earlier, in milliseconds after `NOW`.
    type Placed = (i64, Option<i64>, Option<(u128, i64)>);

    fn placed(
        before: &[AssignmentRow],
        from: Option<i64>,
        until: Option<i64>,
    ) -> Result<Placed, String> {
        let time = |ms: Option<i64>| ms.map(|ms| DateTime(at(ms)));
        let body = AssignmentBody {
            customer: "acme".to_owned(),
            plan: String::new(),
            from: time(from),
            until: time(until),
            note: None,
            email: None,
        };
        let ms = |time: Timestamp| time.as_millis() - NOW.as_millis();
        Placement::new(before, &body, NOW)
            .map(|placement| {
                let ends = placement.ends.map(|(id, end)| (id.to_u128(), ms(end)));
                (ms(placement.starts_at), placement.ends_at.map(ms), ends)
            })
            .map_err(|problem| problem.field)
    }

    #[test]
    fn assignment_without_a_time_replaces_the_present_one_until_the_next() {
        assert_eq!(placed(&[], None, None), Ok((0, None, None)));
        assert_eq!(placed(&[row(1, -9, None)], None, None), Ok((0, None, Some((1, 0)))));
        assert_eq!(placed(&[row(1, -9, Some(5))], None, None), Ok((0, None, Some((1, 0)))));
        let both = [row(1, -9, Some(5)), row(2, 5, None)];
        assert_eq!(placed(&both, None, None), Ok((0, Some(5), Some((1, 0)))));
        assert_eq!(placed(&both, None, Some(3)), Ok((0, Some(3), Some((1, 0)))));
        assert_eq!(placed(&both, None, Some(6)), Err("until".to_owned()));
    }

    #[test]
    fn scheduled_assignment_follows_one_without_an_end_and_overlaps_none() {
        let open = [row(1, -9, None)];
        assert_eq!(placed(&open, Some(7), None), Ok((7, None, Some((1, 7)))));
        let bounded = [row(1, -9, Some(5)), row(2, 8, None)];
        assert_eq!(placed(&bounded, Some(5), None), Ok((5, Some(8), None)));
        assert_eq!(placed(&bounded, Some(4), None), Err("from".to_owned()));
        assert_eq!(placed(&bounded, Some(6), Some(9)), Err("until".to_owned()));
        assert_eq!(placed(&bounded, Some(8), None), Err("from".to_owned()));
        assert_eq!(placed(&bounded, Some(9), None), Ok((9, None, Some((2, 9)))));
        let full: Vec<_> = (0..8).map(|at| row(1, at, Some(at + 1))).collect();
        assert_eq!(placed(&full, Some(9), None), Err("customer".to_owned()));
    }
}
