//! The wanted overrides of a set. They are planned and written after the rules, to which they belong.

use std::collections::{BTreeMap, HashMap, HashSet};

use weir_domain::id::{OverrideId, RuleId};
use weir_domain::rule::Rule;
use weir_http::problem::Problem;
use weir_store::{OverrideBody as StoredBody, OverrideRow, Page, RuleFilter};
use weir_wire::apply::{
    APPLY_OVERRIDES_MAX, ApplyAnswer, ApplyBody, ApplyOverride, FieldChange, ObjectKind,
    ObjectName, PlanWarning, UpdatedObject, name_of_override,
};
use weir_wire::problem::FieldProblem;

use crate::apply::comparison::{Comparison, compare, differences};
use crate::change::Change;
use crate::error::ControlError;
use crate::overrides::checked as checked_override;
use crate::overrides::create::insert;
use crate::overrides::delete::delete_stored;
use crate::overrides::update::update_stored;
use crate::rule_service::CheckedRule;
use crate::state::ControlState;

/// An override in place of a stored one.
struct Update {
    /// The position in the request.
    at: usize,
    before: OverrideRow,
    after: StoredBody,
    /// Whether the override did not belong to the set.
    adopted: bool,
    changes: Vec<FieldChange>,
}

/// The changes of the overrides of a set.
#[derive(Default)]
struct Plan {
    updates: Vec<Update>,
    creates: Vec<(usize, StoredBody)>,
    /// The stored overrides that the request names.
    named: HashSet<OverrideId>,
}

/// Checks what needs no rule.
pub(super) fn checked(body: &ApplyBody) -> Result<(), Problem> {
    if body.overrides.len() > APPLY_OVERRIDES_MAX {
        let reason = format!("must hold at most {APPLY_OVERRIDES_MAX} overrides");
        return Err(Problem::invalid_field("overrides", reason));
    }
    let mut seen = HashMap::new();
    let mut wrong = Vec::new();
    for (at, wanted) in body.overrides.iter().enumerate() {
        let key = (&wanted.namespace, &wanted.rule, &wanted.subject);
        if let Some(first) = seen.insert(key, at) {
            let reason = format!("is the subject of overrides[{first}] too");
            wrong.push(FieldProblem::new(format!("overrides[{at}].subject"), reason));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(Problem::invalid(wrong)) }
}

/// Plans and writes the overrides, deletions first, and adds them to the answer.
pub(super) async fn execute(
    control: &ControlState,
    change: &mut Change,
    body: &ApplyBody,
    answer: &mut ApplyAnswer,
) -> Result<(), ControlError> {
    let rules = rules_of(change, body).await?;
    let Plan { updates, creates, named } = plan(change, body, &rules, answer).await?;
    if body.prune {
        prune(change, body, &named, answer).await?;
    }
    for update in updates {
        let Update { at, before, after, adopted, changes } = update;
        let (id, changed_at, revision) = (before.id, before.updated_at, before.revision);
        let written = update_stored(change, before, after, revision, Some(&body.set)).await;
        written.map_err(|error| error.below(&path(at)))?;
        let wanted = &body.overrides[at];
        answer.updated.push(UpdatedObject {
            kind: ObjectKind::Override,
            id: id.to_string(),
            namespace: wanted.namespace.clone(),
            name: wanted.name(),
            changes,
            adopted,
            last_changed_by: None,
            last_changed_at: changed_at.into(),
        });
    }
    for (at, new) in creates {
        let written = insert(control, change, new, Some(&body.set)).await;
        written.map_err(|error| error.below(&path(at)))?;
        let wanted = &body.overrides[at];
        answer.created.push(named_object(wanted.namespace.clone(), wanted.name()));
    }
    Ok(())
}

/// The rules of the overrides, by their position in the request.
async fn rules_of(
    change: &mut Change,
    body: &ApplyBody,
) -> Result<Vec<(RuleId, Rule)>, ControlError> {
    let mut namespaces: Vec<_> = body.overrides.iter().map(|one| one.namespace.clone()).collect();
    namespaces.sort_unstable();
    namespaces.dedup();
    let rows = change.tx.rules().of_set(change.caller.tenant_id, &namespaces, &body.set).await?;
    let by_name: HashMap<_, _> =
        rows.iter().map(|row| ((row.namespace.as_str(), row.name.as_str()), row)).collect();
    let (mut rules, mut wrong) = (Vec::new(), Vec::new());
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
async fn plan(
    change: &mut Change,
    body: &ApplyBody,
    rules: &[(RuleId, Rule)],
    answer: &mut ApplyAnswer,
) -> Result<Plan, ControlError> {
    let (mut wanted, mut wrong) = (Vec::new(), Vec::new());
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
        let Some(before) = before else {
            plan.creates.push((at, after));
            continue;
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
            Ok(Some(Update { at, before, after, adopted, changes }))
        }
        Err(reason) => Err(format!("has an override {reason}")),
    }
}

/// Deletes the overrides of the set that the request does not name, where the caller has rights.
async fn prune(
    change: &mut Change,
    body: &ApplyBody,
    named: &HashSet<OverrideId>,
    answer: &mut ApplyAnswer,
) -> Result<(), ControlError> {
    let tenant_id = change.caller.tenant_id;
    let mut rows = change.tx.overrides().of_set(tenant_id, &body.set).await?;
    rows.retain(|row| !named.contains(&row.id));
    let ids: HashSet<RuleId> = rows.iter().map(|row| row.rule_id).collect();
    let filter = RuleFilter { ids: Some(ids.into_iter().collect()), ..RuleFilter::default() };
    let page = Page { limit: u32::try_from(rows.len()).unwrap_or(u32::MAX).max(1), after: None };
    let rules = change.tx.rules().list(tenant_id, &filter, &page).await?.items;
    let rules: HashMap<_, _> = rules.into_iter().map(|rule| (rule.id, rule)).collect();
    for row in rows {
        let Some(rule) = rules.get(&row.rule_id) else { continue };
        if !change.caller.namespaces.contain(&rule.namespace) {
            continue;
        }
        delete_stored(change, row.id, Some(row.revision)).await?;
        let name = name_of_override(&rule.name, &subject_of(&row)?);
        answer.deleted.push(named_object(rule.namespace.clone(), name));
    }
    Ok(())
}

fn subject_of(row: &OverrideRow) -> Result<BTreeMap<String, String>, Problem> {
    serde_json::from_value(row.subject.clone()).map_err(Problem::internal)
}

fn named_object(namespace: String, name: String) -> ObjectName {
    ObjectName { kind: ObjectKind::Override, namespace, name }
}

/// The path of an override in the request.
fn path(at: usize) -> String {
    format!("overrides[{at}]")
}
