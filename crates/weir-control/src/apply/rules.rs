//! The wanted rules of a set: the checks that need no stored rule, and their part of the plan.

use std::collections::{BTreeSet, HashMap};

use weir_domain::names;
use weir_domain::warnings;
use weir_http::problem::Problem;
use weir_store::{RuleRow, RuleSpec};
use weir_wire::apply::{
    APPLY_RULES_MAX, ApplyAnswer, ApplyBody, ObjectKind, ObjectName, name_of_override,
};
use weir_wire::problem::FieldProblem;
use weir_wire::rules::RuleBody;

use crate::apply::overrides::{named_object, subject_of};
use crate::apply::plan::{Planned, Update, path};
use crate::change::Change;
use crate::error::ControlError;
use crate::rule_service::CheckedRule;
use crate::rules::delete::{DELETED_OVERRIDES_MAX, DeletedOverrides, delete_stored};
use crate::rules::edit_warnings;

/// The most invalid fields that one answer names.
const REPORTED_MAX: usize = 50;

/// The checked rules in the order of the request, or a problem that names the invalid fields.
pub(super) fn checked(body: &ApplyBody) -> Result<Vec<CheckedRule>, Problem> {
    let count = body.rules.len();
    let (plans, assignments) = (body.plans.len(), body.assignments.len());
    let others = [body.profiles.len(), plans, assignments, body.overrides.len(), body.alerts.len()];
    if count == 0 && others == [0; 5] {
        let reason = "must hold a rule, unless `profiles`, `plans`, `assignments`, `overrides` or `alerts` has an object";
        return Err(Problem::invalid_field("rules", reason));
    }
    if count > APPLY_RULES_MAX {
        let reason = format!("must hold at most {APPLY_RULES_MAX} rules");
        return Err(Problem::invalid_field("rules", reason));
    }
    if let Err(reason) = names::rule(&body.set) {
        return Err(Problem::invalid_field("set", reason));
    }
    let mut wrong = duplicates(body);
    let mut checked = Vec::with_capacity(count);
    for (at, wanted) in body.rules.iter().enumerate() {
        match wanted.rule.clone().parse() {
            Ok(rule) => checked.push(CheckedRule { body: wanted.rule.clone(), rule }),
            Err(fields) => wrong.extend(fields.into_iter().map(|field| {
                FieldProblem::new(format!("{}.{}", path::<RuleSpec>(at), field.field), field.reason)
            })),
        }
        if wrong.len() >= REPORTED_MAX {
            break;
        }
    }
    if wrong.is_empty() { Ok(checked) } else { Err(Problem::invalid(wrong)) }
}

/// Names that occur twice, now or before a renaming.
fn duplicates(body: &ApplyBody) -> Vec<FieldProblem> {
    let mut seen: HashMap<(&str, &str), usize> = HashMap::new();
    let mut wrong = Vec::new();
    for (at, wanted) in body.rules.iter().enumerate() {
        let rule = &wanted.rule;
        if let Some(first) = seen.insert((&rule.namespace, &rule.name), at) {
            let reason = format!("is the name of rules[{first}] too");
            wrong.push(FieldProblem::new(format!("{}.name", path::<RuleSpec>(at)), reason));
        }
    }
    for (at, wanted) in body.rules.iter().enumerate() {
        let Some(former) = &wanted.renamed_from else { continue };
        if let Some(other) = seen.insert((&wanted.rule.namespace, former), at) {
            let reason = format!("is the name of rules[{other}] too");
            wrong.push(FieldProblem::new(format!("rules[{at}].renamed_from"), reason));
        }
    }
    wrong
}

impl Planned for RuleSpec {
    async fn stored(
        change: &mut Change,
        wanted: &[CheckedRule],
        set: &str,
    ) -> Result<Vec<RuleRow>, ControlError> {
        let namespaces: BTreeSet<_> = wanted.iter().map(|rule| &rule.body.namespace).collect();
        let namespaces: Vec<String> = namespaces.into_iter().cloned().collect();
        Ok(change.tx.rules().of_set(change.caller.tenant_id, &namespaces, set).await?)
    }

    fn named(row: &RuleRow) -> ObjectName {
        object(&row.namespace, &row.name)
    }

    fn wanted(checked: &CheckedRule) -> ObjectName {
        object(&checked.body.namespace, &checked.body.name)
    }

    fn key(namespace: &str, name: &str) -> (String, String) {
        (namespace.to_owned(), name.to_owned())
    }

    fn former(body: &ApplyBody, at: usize) -> Option<&str> {
        body.rules[at].renamed_from.as_deref()
    }

    fn body(checked: &CheckedRule) -> &RuleBody {
        &checked.body
    }

    fn is_same(row: &RuleRow, checked: &CheckedRule) -> Result<bool, Problem> {
        Ok(CheckedRule::stored(row).is_ok_and(|stored| stored.body == checked.body))
    }

    fn warnings(checked: &CheckedRule) -> Vec<String> {
        warnings::of_rule(&checked.rule)
    }

    fn edit_warnings(before: &RuleRow, after: &RuleRow) -> Vec<String> {
        edit_warnings(before, after)
    }

    /// The limits that an update adds to those that every request of the namespace meets.
    fn order(update: &Update<Self>) -> i64 {
        let count = |rule: &CheckedRule| {
            i64::try_from(rule.rule.unconditional_limits()).unwrap_or(i64::MAX)
        };
        count(&update.after) - CheckedRule::stored(&update.before).map_or(0, |old| count(&old))
    }

    /// The overrides of a rule, of all owners, come before it in the answer, up to a bound of the plan.
    async fn delete_rows(
        change: &mut Change,
        rows: Vec<RuleRow>,
        answer: &mut ApplyAnswer,
    ) -> Result<(), ControlError> {
        let mut room = usize::try_from(DELETED_OVERRIDES_MAX).unwrap_or(usize::MAX);
        for row in rows {
            let DeletedOverrides { count, first } =
                delete_stored(change, row.id, Some(row.revision)).await?;
            let named_before = answer.deleted.len();
            for deleted in first.iter().take(room) {
                let name = name_of_override(&row.name, &subject_of(deleted)?);
                answer.deleted.push(named_object(row.namespace.clone(), name));
            }
            let newly_named = answer.deleted.len() - named_before;
            room -= newly_named;
            answer.deleted_more += count.saturating_sub(u64::try_from(newly_named).unwrap_or(0));
            answer.deleted.push(Self::named(&row));
        }
        Ok(())
    }
}

fn object(namespace: &str, name: &str) -> ObjectName {
    ObjectName { kind: ObjectKind::Rule, namespace: namespace.to_owned(), name: name.to_owned() }
}
