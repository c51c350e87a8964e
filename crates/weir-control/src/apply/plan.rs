//! The differences between the wanted rules or profiles of a set and the stored ones.

use std::collections::{HashMap, HashSet};

use weir_domain::names;
use weir_http::problem::Problem;
use weir_store::SpecRow;
use weir_wire::apply::{ApplyAnswer, ApplyBody, ObjectName};
use weir_wire::problem::{ErrorCode, FieldProblem};

use crate::answers::to_value;
use crate::apply::comparison::{self, Comparison, compare, differences};
use crate::change::Change;
use crate::error::ControlError;
use crate::specs::Authored;

/// A kind whose objects have names.
pub(super) trait Planned: Authored {
    /// The stored objects that the wanted ones can stand for, and all of the set.
    async fn stored(
        change: &mut Change,
        wanted: &[Self::Checked],
        set: &str,
    ) -> Result<Vec<SpecRow<Self>>, ControlError>;

    /// A stored object in the answer.
    fn named(row: &SpecRow<Self>) -> ObjectName;

    /// A wanted object in the answer.
    fn wanted(checked: &Self::Checked) -> ObjectName;

    /// The namespace and the name that identify an object.
    fn key(namespace: &str, name: &str) -> (String, String);

    /// The name that the wanted object had before.
    fn former(body: &ApplyBody, at: usize) -> Option<&str>;

    /// A wanted object in the API's format.
    fn body(checked: &Self::Checked) -> &Self::Wire;

    /// Whether a stored object is as wanted.
    fn is_same(row: &SpecRow<Self>, checked: &Self::Checked) -> Result<bool, Problem>;

    /// The warnings about a wanted object.
    fn warnings(checked: &Self::Checked) -> Vec<String>;

    /// The warnings about an edit.
    fn edit_warnings(_before: &SpecRow<Self>, _after: &SpecRow<Self>) -> Vec<String> {
        Vec::new()
    }

    /// The order of an update: those with less come first, and others in the order of the request.
    fn order(_update: &Update<Self>) -> i64 {
        0
    }

    /// Deletes objects, and adds them to the answer.
    async fn delete_rows(
        change: &mut Change,
        rows: Vec<SpecRow<Self>>,
        answer: &mut ApplyAnswer,
    ) -> Result<(), ControlError>;
}

/// An object to be replaced.
pub(super) type Update<T> = comparison::Update<SpecRow<T>, <T as Authored>::Checked>;

/// The changes of the objects of a kind, in the order of the request.
pub(super) struct Plan<T: Planned> {
    pub(super) deletes: Vec<SpecRow<T>>,
    pub(super) updates: Vec<Update<T>>,
    /// The objects to be created, with their positions in the request.
    pub(super) creates: Vec<(usize, T::Checked)>,
    pub(super) unchanged: u64,
}

impl<T: Planned> Plan<T> {
    pub(super) async fn new(
        change: &mut Change,
        body: &ApplyBody,
        objects: Vec<T::Checked>,
    ) -> Result<Self, ControlError> {
        let mut stored = Stored::<T>::new(T::stored(change, &objects, &body.set).await?);
        let mut plan =
            Self { deletes: Vec::new(), updates: Vec::new(), creates: Vec::new(), unchanged: 0 };
        let mut wrong = Vec::new();
        for (at, checked) in objects.into_iter().enumerate() {
            match stored.take(&checked, T::former(body, at)) {
                Ok(None) => plan.creates.push((at, checked)),
                Ok(Some(before)) => {
                    T::admit(&mut change.tx, &change.caller, &before).await?;
                    if let Err(reason) = plan.compare(at, before, checked, body)? {
                        let field = format!("{}.name", path::<T>(at));
                        wrong.push(FieldProblem::new(field, reason));
                    }
                }
                Err(reason) => {
                    let field = format!("{}s[{at}].renamed_from", T::WORD);
                    wrong.push(FieldProblem::new(field, reason));
                }
            }
        }
        if !wrong.is_empty() {
            return Err(Problem::invalid(wrong).into());
        }
        if body.prune {
            plan.deletes = stored.rest_of(&body.set);
            let namespaces = &change.caller.namespaces;
            plan.deletes.retain(|row| namespaces.contain(&T::named(row).namespace));
        }
        Ok(plan)
    }

    /// Adds the difference of an object, or returns the reason why the object must not be changed.
    fn compare(
        &mut self,
        at: usize,
        before: SpecRow<T>,
        after: T::Checked,
        body: &ApplyBody,
    ) -> Result<Result<(), String>, Problem> {
        let same = T::is_same(&before, &after)?;
        match compare(before.managed_by.as_ref(), same, body) {
            Ok(Comparison::Unchanged) => self.unchanged += 1,
            Ok(Comparison::Changed { adopted }) => {
                let changes = differences(&before.spec, &to_value(T::body(&after))?);
                let object = T::wanted(&after);
                let changed_at = before.updated_at;
                let shown = comparison::updated(object, &before.id, adopted, changes, changed_at);
                self.updates.push(Update::<T> { at, before, after, shown });
            }
            Err(reason) => return Ok(Err(format!("is a {} {reason}", T::WORD))),
        }
        Ok(Ok(()))
    }
}

/// The path of an object in the request.
pub(super) fn path<T: Planned>(at: usize) -> String {
    format!("{word}s[{at}].{word}", word = T::WORD)
}

/// The problems of the wanted objects, whose fields are in their paths.
pub(super) fn below<T: Planned>(
    objects: impl Iterator<Item = Vec<FieldProblem>>,
) -> Vec<FieldProblem> {
    let wrong = objects.enumerate().flat_map(|(at, fields)| {
        let place = path::<T>(at);
        let below = move |field: FieldProblem| FieldProblem {
            field: format!("{place}.{}", field.field),
            reason: field.reason,
        };
        fields.into_iter().map(below)
    });
    wrong.collect()
}

/// The problems of the names of the wanted objects: those that occur twice, now or before a renaming, and former ones that no
/// object can have.
pub(super) fn wrong_names<T: Planned>(body: &ApplyBody, names: &[&str]) -> Vec<FieldProblem> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut wrong = Vec::new();
    let taken = |first| format!("is the name of {}s[{first}] too", T::WORD);
    for (at, name) in names.iter().enumerate() {
        if let Some(first) = seen.insert(*name, at) {
            wrong.push(FieldProblem::new(format!("{}.name", path::<T>(at)), taken(first)));
        }
    }
    for at in 0..names.len() {
        let Some(former) = T::former(body, at) else { continue };
        let field = format!("{}s[{at}].renamed_from", T::WORD);
        if let Err(reason) = names::rule(former) {
            wrong.push(FieldProblem::new(field, reason));
        } else if let Some(other) = seen.insert(former, at) {
            wrong.push(FieldProblem::new(field, taken(other)));
        }
    }
    wrong
}

/// Refuses a plan that deletes more objects than allowed.
pub(super) fn refuse_deletes_above(count: usize, most: u32) -> Result<(), Problem> {
    if u32::try_from(count).is_ok_and(|count| count <= most) {
        return Ok(());
    }
    let detail = format!("the plan deletes {count} objects, and `allow_deletes` is {most}");
    Err(Problem::new(ErrorCode::Conflict, detail))
}

/// The stored objects that the request has not named so far.
struct Stored<T: Planned> {
    rows: Vec<SpecRow<T>>,
    by_name: HashMap<(String, String), usize>,
    taken: HashSet<usize>,
}

impl<T: Planned> Stored<T> {
    fn new(rows: Vec<SpecRow<T>>) -> Self {
        let key = |row| {
            let ObjectName { namespace, name, .. } = T::named(row);
            T::key(&namespace, &name)
        };
        let by_name = rows.iter().enumerate().map(|(at, row)| (key(row), at)).collect();
        Self { rows, by_name, taken: HashSet::new() }
    }

    /// The stored object with the name of a wanted one, or with its former name.
    fn take(
        &mut self,
        checked: &T::Checked,
        former: Option<&str>,
    ) -> Result<Option<SpecRow<T>>, String> {
        let ObjectName { namespace, name, .. } = T::wanted(checked);
        let find = |name: &str| self.by_name.get(&T::key(&namespace, name)).copied();
        let found = match (find(&name), former.and_then(find)) {
            (Some(_), Some(_)) => {
                return Err(format!("names a {} that exists beside the renamed one", T::WORD));
            }
            (found, None) | (None, found) => found,
        };
        Ok(found.map(|at| {
            self.taken.insert(at);
            self.rows[at].clone()
        }))
    }

    /// The objects of a set that were not taken.
    fn rest_of(self, set: &str) -> Vec<SpecRow<T>> {
        let rest = self.rows.into_iter().enumerate();
        rest.filter(|(at, row)| !self.taken.contains(at) && row.managed_by.as_deref() == Some(set))
            .map(|(_, row)| row)
            .collect()
    }
}
