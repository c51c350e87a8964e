//! The differences between the wanted assignments of a customer and the stored ones.

use serde_json::{Map, Value};
use weir_domain::id::{AssignmentId, PlanId};
use weir_domain::time::Timestamp;
use weir_store::AssignmentRow;
use weir_wire::apply::ApplyAssignment;
use weir_wire::time::DateTime;

/// A wanted assignment that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted<'b> {
    /// The name of the plan.
    pub(super) plan: &'b str,
    /// The id of the plan. `None` if the request creates it.
    pub(super) plan_id: Option<PlanId>,
    pub(super) starts_at: Timestamp,
    pub(super) ends_at: Option<Timestamp>,
    pub(super) note: &'b str,
    /// The address that the customer has: files contain none.
    pub(super) email: Option<String>,
}

/// The changes of the assignments of a customer.
#[derive(Debug, Default)]
pub(super) struct Schedule<'b> {
    /// The stored assignments that the wanted ones concern.
    pub(super) before: Vec<AssignmentRow>,
    /// Those of them that stay, with their new ends and notes.
    pub(super) stay: Vec<AssignmentRow>,
    /// Those that end.
    pub(super) ends: Vec<(AssignmentId, Timestamp)>,
    pub(super) new: Vec<Wanted<'b>>,
    /// The number of the others, which end before the first wanted one.
    earlier: usize,
}

/// The wanted assignments at these positions, which are of one customer and in the order of time, without those that have ended.
pub(super) fn wanted<'b>(
    all: &'b [ApplyAssignment],
    positions: &[usize],
    plan_id: impl Fn(&str) -> Option<PlanId>,
    now: Timestamp,
) -> Vec<Wanted<'b>> {
    let nexts = positions[1..].iter().map(|at| all[*at].from).chain([None]);
    let wanted = positions.iter().zip(nexts).map(|(&at, next)| {
        let ApplyAssignment { plan, from, until, note, .. } = &all[at];
        Wanted {
            plan,
            plan_id: plan_id(plan),
            starts_at: from.map_or(now, |from| from.0.max(now)),
            ends_at: until.or(next).map(|end| end.0),
            note: note.as_deref().unwrap_or_default(),
            email: None,
        }
    });
    wanted.filter(|one| one.ends_at.is_none_or(|end| end > now)).collect()
}

impl<'b> Schedule<'b> {
    /// Both lists are in the order of time. The customer's plan before the first wanted assignment stays until that begins.
    pub(super) fn new(
        mut wanted: Vec<Wanted<'b>>,
        rows: Vec<AssignmentRow>,
        now: Timestamp,
    ) -> Self {
        let mut schedule = Self::default();
        let email = rows.iter().rev().find_map(|row| row.email.clone());
        let first = wanted.first().map_or(now, |one| one.starts_at);
        for row in rows {
            let mut after = row.clone();
            if row.starts_at < first && first > now {
                if row.ends_at.is_some_and(|end| end <= first) {
                    schedule.earlier += 1;
                    continue;
                }
                after.ends_at = Some(first);
                schedule.stay.push(after);
            } else {
                let starts_at = row.starts_at.max(now);
                let is_same =
                    |one: &Wanted| one.starts_at == starts_at && one.plan_id == Some(row.plan_id);
                match wanted.iter().position(is_same) {
                    Some(at) => {
                        let Wanted { ends_at, note, .. } = wanted.remove(at);
                        (after.ends_at, after.note) = (ends_at, note.to_owned());
                        schedule.stay.push(after);
                    }
                    None => schedule.ends.push((row.id, starts_at)),
                }
            }
            schedule.before.push(row);
        }
        let with_email = |one| Wanted { email: email.clone(), ..one };
        schedule.new = wanted.into_iter().map(with_email).collect();
        schedule
    }

    /// Whether the stored assignments are as wanted.
    pub(super) fn is_unchanged(&self) -> bool {
        self.new.is_empty() && self.stay == self.before
    }

    /// The number of assignments of the customer that have not ended, after the change.
    pub(super) fn count(&self) -> usize {
        self.earlier + self.stay.len() + self.new.len()
    }

    /// The assignments before and after the change, as people write them.
    pub(super) fn shown(
        &self,
        name: impl Fn(PlanId) -> String,
        now: Timestamp,
    ) -> (Vec<Value>, Vec<Value>) {
        let of_row = |row: &AssignmentRow| {
            (row.starts_at, shown(name(row.plan_id), (row.starts_at, row.ends_at), &row.note, now))
        };
        let mut after: Vec<_> = self.stay.iter().map(of_row).collect();
        after.extend(self.new.iter().map(|one| {
            (one.starts_at, shown(one.plan.to_owned(), (one.starts_at, one.ends_at), one.note, now))
        }));
        after.sort_by_key(|(starts_at, _)| *starts_at);
        let values = |list: Vec<(Timestamp, Value)>| list.into_iter().map(|(_, value)| value);
        (values(self.before.iter().map(of_row).collect()).collect(), values(after).collect())
    }
}

fn shown(
    plan: String,
    (starts_at, ends_at): (Timestamp, Option<Timestamp>),
    note: &str,
    now: Timestamp,
) -> Value {
    let mut fields = Map::from_iter([("plan".to_owned(), plan.into())]);
    let time = |at: Timestamp| Value::from(DateTime(at).text());
    let from = Some(starts_at).filter(|at| *at > now).map(|at| ("from".to_owned(), time(at)));
    fields.extend(from);
    fields.extend(ends_at.map(|at| ("until".to_owned(), time(at))));
    if !note.is_empty() {
        fields.insert("note".to_owned(), note.into());
    }
    fields.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_763_726_400_000);

    fn row(id: u128, plan: u128, starts: i64, ends: Option<i64>) -> AssignmentRow {
        AssignmentRow {
            id: AssignmentId::from_u128(id),
            customer: "acme".to_owned(),
            plan_id: PlanId::from_u128(plan),
            pinned_revision: 0,
            starts_at: NOW.plus_ms(starts),
            ends_at: ends.map(|ms| NOW.plus_ms(ms)),
            note: String::new(),
            email: None,
            managed_by: None,
            rulebook_version: 1,
            created_at: NOW,
        }
    }

    /// The assignments that stay, with their ends; those that end, with their ends; the new ones, with their plans and times.
    #[derive(Debug, Default, PartialEq, Eq)]
    struct Found {
        stay: Vec<(u128, Option<i64>)>,
        ends: Vec<(u128, i64)>,
        new: Vec<(u128, i64, Option<i64>)>,
        is_unchanged: bool,
    }

    /// Wanted are the number of a plan and a time from which the customer is on it.
    fn found(wanted_plans: &[(u128, Option<i64>)], rows: Vec<AssignmentRow>) -> Found {
        let one = |(plan, from): &(u128, Option<i64>)| ApplyAssignment {
            customer: "acme".to_owned(),
            plan: plan.to_string(),
            from: from.map(|ms| DateTime(NOW.plus_ms(ms))),
            until: None,
            note: None,
        };
        let all: Vec<_> = wanted_plans.iter().map(one).collect();
        let positions: Vec<_> = (0..all.len()).collect();
        let id = |name: &str| name.parse().ok().map(PlanId::from_u128);
        let schedule = Schedule::new(wanted(&all, &positions, id, NOW), rows, NOW);
        let ms = |at: Timestamp| at.as_millis() - NOW.as_millis();
        let of_row = |row: &AssignmentRow| (row.id.to_u128(), row.ends_at.map(ms));
        let of_new = |one: &Wanted| {
            (one.plan.parse().expect("a number"), ms(one.starts_at), one.ends_at.map(ms))
        };
        Found {
            stay: schedule.stay.iter().map(of_row).collect(),
            ends: schedule.ends.iter().map(|(id, at)| (id.to_u128(), ms(*at))).collect(),
            new: schedule.new.iter().map(of_new).collect(),
            is_unchanged: schedule.is_unchanged(),
        }
    }

    #[test]
    fn plan_at_once_replaces_the_stored_ones() {
        let new = Found { new: vec![(2, 0, None)], ..Found::default() };
        assert_eq!(found(&[(2, None)], vec![]), new);
        let same = Found { stay: vec![(7, None)], is_unchanged: true, ..Found::default() };
        assert_eq!(found(&[(2, None)], vec![row(7, 2, -9, None)]), same);
        assert_eq!(found(&[(2, Some(-5))], vec![row(7, 2, -9, None)]), same);
        let upgrade =
            Found { ends: vec![(7, 0), (8, 5)], new: vec![(2, 0, None)], ..Found::default() };
        assert_eq!(found(&[(2, None)], vec![row(7, 1, -9, Some(5)), row(8, 2, 5, None)]), upgrade);
        let longer = Found { stay: vec![(7, None)], ..Found::default() };
        assert_eq!(found(&[(2, None)], vec![row(7, 2, -9, Some(5))]), longer);
    }

    #[test]
    fn scheduled_plans_follow_each_other_and_what_precedes_them_stays() {
        let both = [(1, None), (2, Some(5))];
        let begin = Found { new: vec![(1, 0, Some(5)), (2, 5, None)], ..Found::default() };
        assert_eq!(found(&both, vec![]), begin);
        let rows = || vec![row(7, 1, -9, Some(5)), row(8, 2, 5, None)];
        let same =
            Found { stay: vec![(7, Some(5)), (8, None)], is_unchanged: true, ..Found::default() };
        assert_eq!(found(&both, rows()), same);
        let later = Found {
            stay: vec![(7, Some(6))],
            ends: vec![(8, 5)],
            new: vec![(2, 6, None)],
            ..Found::default()
        };
        assert_eq!(found(&[(1, None), (2, Some(6))], rows()), later);
        let alone = Found { stay: vec![(8, None)], is_unchanged: true, ..Found::default() };
        assert_eq!(found(&[(2, Some(5))], rows()), alone, "nothing is wanted before");
        let cut = Found {
            stay: vec![(7, Some(3))],
            ends: vec![(8, 5)],
            new: vec![(2, 3, None)],
            ..Found::default()
        };
        assert_eq!(found(&[(2, Some(3))], rows()), cut);
        let ended = Found { stay: vec![(8, None)], is_unchanged: true, ..Found::default() };
        assert_eq!(found(&[(1, None), (2, Some(-5))], vec![row(8, 2, -5, None)]), ended);
    }

    #[test]
    fn differences_show_plans_by_name_and_no_past_begin() {
        let rows = vec![row(7, 1, -9, None)];
        let wanted = Wanted {
            plan: "pro",
            plan_id: None,
            starts_at: NOW.plus_ms(5),
            ends_at: None,
            note: "signed",
            email: None,
        };
        let schedule = Schedule::new(vec![wanted], rows, NOW);
        let (before, after) = schedule.shown(|_| "free".to_owned(), NOW);
        assert_eq!(before, [json!({ "plan": "free" })]);
        let time = DateTime(NOW.plus_ms(5)).text();
        let later = json!({ "plan": "pro", "from": time, "note": "signed" });
        assert_eq!(after, [json!({ "plan": "free", "until": time }), later]);
    }
}
