//! The differences between the wanted overrides and the stored ones.

use std::collections::{HashMap, HashSet};

use weir_domain::id::{OverrideId, RuleId};
use weir_domain::rule::Rule;
use weir_http::problem::Problem;
use weir_store::{OverrideBody as StoredBody, OverrideRow};
use weir_wire::apply::{ApplyAnswer, ApplyBody, ApplyOverride, PlanWarning};
use weir_wire::problem::FieldProblem;

use crate::apply::comparison::{self, Comparison, compare, differences, updated};
use crate::apply::overrides::names::{named_object, path, subject_of};
use crate::change::Change;
use crate::error::ControlError;
use crate::overrides::checked as checked_override;
use crate::overrides::write::gives_way;
use crate::rule_service::CheckedRule;

/// An override in place of a stored one.
pub(super) type Update = comparison::Update<OverrideRow, StoredBody>;

/// The changes of the overrides of a set.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) updates: Vec<Update>,
    pub(super) creates: Vec<(usize, StoredBody)>,
    /// The stored overrides of no set that have ended, in place of which others are created.
    pub(super) ended: Vec<OverrideRow>,
    /// The stored overrides that the request names.
    pub(super) named: HashSet<OverrideId>,
}

/// The rules of the overrides, by their position in the request.
pub(super) async fn rules_of(
    change: &mut Change,
    body: &ApplyBody,
) -> Result<Vec<(RuleId, Rule)>, ControlError> {
    let mut namespaces: Vec<_> = body.overrides.iter().map(|one| one.namespace.clone()).collect();
    namespaces.sort_unstable();
    namespaces.dedup();
    let rows = change.tx.rules().of_set(change.caller.tenant_id, &namespaces, &body.set).await?;
    let by_name: HashMap<_, _> =
        rows.iter().map(|row| ((row.namespace.as_str(), row.name.as_str()), row)).collect();
    let mut rules = Vec::new();
    let mut wrong = Vec::new();
    for (at, wanted) in body.overrides.iter().enumerate() {
        match by_name.get(&(wanted.namespace.as_str(), wanted.rule.as_str())) {
            Some(row) => rules.push((row.id, CheckedRule::stored(row)?.rule)),
            None => {
                let reason = "is neither a rule of the request nor a stored one";
                wrong.push(FieldProblem::new(format!("overrides[{at}].rule"), reason));
            }
        }
    }
    if wrong.is_empty() { Ok(rules) } else { Err(Problem::invalid(wrong).into()) }
}

/// The differences from the stored overrides. One that has expired is neither written nor deleted; a warning names it.
pub(super) async fn plan(
    change: &mut Change,
    body: &ApplyBody,
    rules: &[(RuleId, Rule)],
    answer: &mut ApplyAnswer,
) -> Result<Plan, ControlError> {
    let mut wanted = Vec::new();
    let mut wrong = Vec::new();
    for (at, one) in body.overrides.iter().enumerate() {
        let (id, rule) = &rules[at];
        let expired = one.expires_at.is_some_and(|expires_at| expires_at.0 <= change.now);
        let lasting =
            ApplyOverride { expires_at: one.expires_at.filter(|_| !expired), ..one.clone() };
        match checked_override(&lasting.body(id.to_string()), rule, change.now) {
            Ok(stored) => wanted.push((at, expired, stored)),
            Err(fields) => wrong.extend(fields.into_iter().map(|field| {
                FieldProblem::new(format!("{}.{}", path(at), field.field), field.reason)
            })),
        }
    }
    let keys: Vec<_> = wanted.iter().map(|(_, _, one)| (one.rule_id, one.subject_digest)).collect();
    let rows = change.tx.overrides().of_keys(change.caller.tenant_id, &keys).await?;
    let mut stored = HashMap::new();
    for row in rows {
        stored.insert((row.rule_id, subject_of(&row)?), row);
    }
    let mut plan = Plan::default();
    for (at, expired, after) in wanted {
        let subject = body.overrides[at].subject.clone();
        let before = stored.remove(&(after.rule_id, subject));
        plan.named.extend(before.as_ref().map(|before| before.id));
        if expired {
            answer.unchanged += 1;
            answer.warnings.push(PlanWarning {
                namespace: body.overrides[at].namespace.clone(),
                name: body.overrides[at].name(),
                text: "the override has expired; remove it from the files".to_owned(),
            });
            continue;
        }
        let before = match before {
            Some(before) if !gives_way(&before, change.now) => before,
            ended => {
                plan.ended.extend(ended);
                plan.creates.push((at, after));
                continue;
            }
        };
        match update(at, before, after, body) {
            Ok(Some(update)) => plan.updates.push(update),
            Ok(None) => answer.unchanged += 1,
            Err(reason) => {
                wrong.push(FieldProblem::new(format!("{}.subject", path(at)), reason));
            }
        }
    }
    if wrong.is_empty() { Ok(plan) } else { Err(Problem::invalid(wrong).into()) }
}

/// The difference of an override, or the reason why the override must not be changed. `None` if it is as wanted.
fn update(
    at: usize,
    before: OverrideRow,
    after: StoredBody,
    body: &ApplyBody,
) -> Result<Option<Update>, String> {
    let same = before.spec == after.spec;
    match compare(before.managed_by.as_ref(), same, body) {
        Ok(Comparison::Unchanged) => Ok(None),
        Ok(Comparison::Changed { adopted }) => {
            let changes = differences(&before.spec, &after.spec);
            let wanted = &body.overrides[at];
            let object = named_object(wanted.namespace.clone(), wanted.name());
            let shown = updated(object, &before.id, adopted, changes, before.updated_at);
            Ok(Some(Update { at, before, after, shown }))
        }
        Err(reason) => Err(format!("has an override {reason}")),
    }
}
