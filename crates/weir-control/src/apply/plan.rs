//! The differences between the wanted rules and the stored ones.

use std::collections::{BTreeSet, HashMap, HashSet};

use weir_http::problem::Problem;
use weir_store::RuleRow;
use weir_wire::apply::{ApplyBody, FieldChange};
use weir_wire::problem::{ErrorCode, FieldProblem};

use crate::answers::to_value;
use crate::apply::comparison::{Comparison, compare, differences};
use crate::apply::wanted::path;
use crate::change::Change;
use crate::error::ControlError;
use crate::rule_service::CheckedRule;

/// The changes of a set, in the order of the request.
pub(super) struct Plan {
    pub(super) deletes: Vec<RuleRow>,
    pub(super) updates: Vec<Update>,
    pub(super) creates: Vec<Create>,
    pub(super) unchanged: u64,
}

/// A rule to be created.
pub(super) struct Create {
    /// The position in the request.
    pub(super) at: usize,
    pub(super) checked: CheckedRule,
}

/// A rule to be replaced.
pub(super) struct Update {
    /// The position in the request.
    pub(super) at: usize,
    pub(super) before: RuleRow,
    pub(super) checked: CheckedRule,
    /// Whether the rule did not belong to the set.
    pub(super) adopted: bool,
    pub(super) changes: Vec<FieldChange>,
}

impl Plan {
    pub(super) async fn new(
        change: &mut Change,
        body: &ApplyBody,
        rules: Vec<CheckedRule>,
    ) -> Result<Self, ControlError> {
        let namespaces: BTreeSet<_> = rules.iter().map(|rule| &rule.body.namespace).collect();
        let namespaces: Vec<String> = namespaces.into_iter().cloned().collect();
        let tenant_id = change.caller.tenant_id;
        let rows = change.tx.rules().of_set(tenant_id, &namespaces, &body.set).await?;
        let mut plan =
            Self { deletes: Vec::new(), updates: Vec::new(), creates: Vec::new(), unchanged: 0 };
        let mut wrong = Vec::new();
        let mut stored = Stored::new(rows);
        for (at, checked) in rules.into_iter().enumerate() {
            let former = body.rules[at].renamed_from.as_deref();
            match stored.take(&checked, former) {
                Ok(None) => plan.creates.push(Create { at, checked }),
                Ok(Some(before)) => {
                    if let Err(reason) = plan.compare(at, before, checked, body)? {
                        wrong.push(FieldProblem::new(format!("{}.name", path(at)), reason));
                    }
                }
                Err(reason) => {
                    wrong.push(FieldProblem::new(format!("rules[{at}].renamed_from"), reason));
                }
            }
        }
        if !wrong.is_empty() {
            return Err(Problem::invalid(wrong).into());
        }
        if body.prune {
            plan.deletes = stored.rest_of(&body.set);
            plan.deletes.retain(|row| change.caller.namespaces.contain(&row.namespace));
        }
        Ok(plan)
    }

    /// Adds the difference of a rule, or returns the reason why the rule must not be changed.
    fn compare(
        &mut self,
        at: usize,
        before: RuleRow,
        checked: CheckedRule,
        body: &ApplyBody,
    ) -> Result<Result<(), String>, Problem> {
        let same = CheckedRule::stored(&before).is_ok_and(|stored| stored.body == checked.body);
        match compare(before.managed_by.as_ref(), same, body) {
            Ok(Comparison::Unchanged) => self.unchanged += 1,
            Ok(Comparison::Changed { adopted }) => {
                let changes = differences(&before.spec, &to_value(&checked.body)?);
                self.updates.push(Update { at, before, checked, adopted, changes });
            }
            Err(reason) => return Ok(Err(format!("is a rule {reason}"))),
        }
        Ok(Ok(()))
    }
}

/// Refuses a plan that deletes more objects than allowed.
pub(super) fn refuse_deletes_above(count: usize, most: u32) -> Result<(), Problem> {
    if u32::try_from(count).is_ok_and(|count| count <= most) {
        return Ok(());
    }
    let detail = format!("the plan deletes {count} objects, and `allow_deletes` is {most}");
    Err(Problem::new(ErrorCode::Conflict, detail))
}

/// The stored rules that the request has not named so far.
struct Stored {
    rows: Vec<RuleRow>,
    by_name: HashMap<(String, String), usize>,
    taken: HashSet<usize>,
}

impl Stored {
    fn new(rows: Vec<RuleRow>) -> Self {
        let key = |row: &RuleRow| (row.namespace.clone(), row.name.clone());
        let by_name = rows.iter().enumerate().map(|(at, row)| (key(row), at)).collect();
        Self { rows, by_name, taken: HashSet::new() }
    }

    /// The stored rule with the name of a wanted one, or with its former name.
    fn take(
        &mut self,
        checked: &CheckedRule,
        former: Option<&str>,
    ) -> Result<Option<RuleRow>, &'static str> {
        let find = |name: &str| {
            self.by_name.get(&(checked.body.namespace.clone(), name.to_owned())).copied()
        };
        let found = match (find(&checked.body.name), former.and_then(find)) {
            (Some(_), Some(_)) => return Err("names a rule that exists beside the renamed one"),
            (found, None) | (None, found) => found,
        };
        Ok(found.map(|at| {
            self.taken.insert(at);
            self.rows[at].clone()
        }))
    }

    /// The rules of a set that were not taken.
    fn rest_of(self, set: &str) -> Vec<RuleRow> {
        let rest = self.rows.into_iter().enumerate();
        rest.filter(|(at, row)| !self.taken.contains(at) && row.managed_by.as_deref() == Some(set))
            .map(|(_, row)| row)
            .collect()
    }
}
