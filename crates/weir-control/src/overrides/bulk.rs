//! `POST /tenants/{tenant}/overrides/bulk`

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};
use weir_domain::id::{OverrideId, RuleId, TenantId};
use weir_domain::names;
use weir_domain::quantity::counted;
use weir_domain::rule::Rule;
use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_store::{OverrideBody as StoredBody, OverrideBulk, Owner, Page, RuleFilter, RuleRow, Tx};
use weir_wire::overrides::{
    BULK_OVERRIDES_MAX, BulkOverridesAnswer, BulkOverridesBody, OverrideBody, ReplacedSet,
};
use weir_wire::problem::{ErrorCode, FieldProblem};

use crate::actor::{By, Editor, InNamespaces};
use crate::answers::{answer, to_value};
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::input::{Input, Once};
use crate::overrides::checked;
use crate::overrides::write::room;
use crate::rule_service::CheckedRule;
use crate::state::ControlState;

/// The most invalid overrides that one answer names.
const REPORTED_MAX: usize = 20;
/// The most replaced overrides that the audit entry holds. Their number is in `updated`.
const REPLACED_MAX: u32 = 100;
/// The most bulk writes of one tenant that run or wait. Each holds a body of up to 4 MiB in memory.
const WRITES_MAX: u64 = 16;
/// The time after which a tenant with too many bulk writes can retry, in seconds.
const RETRY_AFTER_S: u32 = 1;

/// Create or replace many overrides at once: all of them or none. With `dry_run`, answers what would be written.
///
/// Overrides that belong to a set of rules as code stay in it, and the next apply of the set replaces them again. `replace_sets`
/// names the sets whose overrides can be changed.
#[utoipa::path(post, path = "/tenants/{tenant}/overrides/bulk", operation_id = "overrides_bulk", tag = "overrides",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = BulkOverridesBody,
    responses(
        (status = 200, description = "Written", body = BulkOverridesAnswer),
        (status = 409, description = "Too many overrides, a rule was changed meanwhile, or one belongs to a set that `replace_sets` does not name"),
        (status = 429, description = "The tenant has too many bulk writes in progress"),
    ))]
pub(crate) async fn bulk(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Input { body, once }: Input<BulkOverridesBody>,
) -> Result<Response, ControlError> {
    let count = body.overrides.len();
    if !(1..=BULK_OVERRIDES_MAX).contains(&count) {
        let reason = format!("must hold from 1 to {BULK_OVERRIDES_MAX} overrides");
        return Err(Problem::invalid_field("overrides", reason).into());
    }
    check_sets(body.replace_sets.as_deref().unwrap_or_default())?;
    // A dry run is executed and rolled back, so it meets every bound that the write would meet.
    let once = if body.dry_run { Once::not_stored() } else { once };
    let tenant_id = caller.tenant_id;
    let permit = control.local.bulk_writes.enter(tenant_id, WRITES_MAX).await;
    let _permit = permit.map_err(|_| {
        let detail = "the tenant has too many bulk writes in progress";
        Problem::new(ErrorCode::TooManyRequests, detail).retry_after_s(RETRY_AFTER_S)
    })?;
    let mut reading = control.reading("overrides.bulk_rules", &caller).await?;
    // The transaction is rolled back. A repeat ends here with its first answer, which does not depend on the present rules.
    once.clone().claim_in(&mut reading, Owner::Tenant(tenant_id), control.clock.now()).await?;
    let rules = rules_of(&mut reading, tenant_id, &body.overrides).await?;
    drop(reading);
    for rule in rules.values() {
        caller.namespaces.admit(&rule.namespace)?;
    }
    // No transaction is open here, because the checks take long.
    let stored = checked_all(&body.overrides, &rules, control.clock.now())?;

    let mut change = control.change("overrides.bulk", caller, once).await?;
    let now_in_force = rules_of(&mut change.tx, tenant_id, &body.overrides).await?;
    if revisions(&now_in_force) != revisions(&rules) {
        let detail = "a rule was changed while its overrides were validated; send them again";
        return Err(Problem::new(ErrorCode::Conflict, detail).into());
    }
    let replaced_sets = changed_sets(&mut change, &stored, body.replace_sets.as_deref()).await?;
    let before = room(&mut change, 0).await?;
    let with_id = |body| (control.id(OverrideId::new), body);
    let replaced = replaced(&mut change, &stored).await?;
    let write = OverrideBulk {
        tenant_id,
        rows: stored.into_iter().map(with_id).collect(),
        now: change.now,
    };
    let written = change.tx.overrides().upsert_many(&write).await?;
    let created = room(&mut change, 0).await?.saturating_sub(before);
    let updated = written.saturating_sub(created);
    if body.dry_run {
        let tenant = change.tx.tenants().find(tenant_id).await?.ok_or_else(Problem::not_found)?;
        let rulebook_version = tenant.version;
        let planned = BulkOverridesAnswer { created, updated, replaced_sets, rulebook_version };
        return Ok(answer(StatusCode::OK, &to_value(&planned)?));
    }
    let object = Object::new("tenant", &tenant_id);
    let before = json!({ "replaced": replaced });
    let after = json!({ "created": created, "updated": updated, "replaced_sets": replaced_sets });
    change.audit("override.bulk", object, Some(before), Some(after));
    // The commit sets the version.
    let written = BulkOverridesAnswer { created, updated, replaced_sets, rulebook_version: 0 };
    change.answer(StatusCode::OK, &written).await
}

/// Checks the names of sets.
fn check_sets(sets: &[String]) -> Result<(), Problem> {
    if sets.len() > BULK_OVERRIDES_MAX {
        let reason = format!("must hold at most {BULK_OVERRIDES_MAX} sets");
        return Err(Problem::invalid_field("replace_sets", reason));
    }
    let wrong = |(at, set): (usize, &String)| {
        let reason = names::rule(set).err()?;
        Some(Problem::invalid_field(format!("replace_sets[{at}]"), reason))
    };
    sets.iter().enumerate().find_map(wrong).map_or(Ok(()), Err)
}

/// The sets that own overrides which change. Refuses those that `permitted` does not name.
async fn changed_sets(
    change: &mut Change,
    new: &[StoredBody],
    permitted: Option<&[String]>,
) -> Result<Vec<ReplacedSet>, ControlError> {
    let sets = change.tx.overrides().changed_sets(change.caller.tenant_id, new).await?;
    let refused = sets.iter().find(|(set, _)| permitted.is_some_and(|names| !names.contains(set)));
    if let Some((set, count)) = refused {
        let overrides = counted(*count, "override", "overrides");
        let detail = format!(
            "{overrides} would change that the set `{set}` owns, which `replace_sets` does not name"
        );
        return Err(Problem::new(ErrorCode::Conflict, detail).into());
    }
    Ok(sets.into_iter().map(|(set, overrides)| ReplacedSet { set, overrides }).collect())
}

/// Reads the rules that the bodies name, by id.
async fn rules_of(
    tx: &mut Tx,
    tenant_id: TenantId,
    bodies: &[OverrideBody],
) -> Result<HashMap<String, RuleRow>, ControlError> {
    let ids: BTreeSet<RuleId> =
        bodies.iter().filter_map(|body| body.rule_id.parse().ok()).collect();
    let filter = RuleFilter { ids: Some(ids.into_iter().collect()), ..RuleFilter::default() };
    let page = Page { limit: u32::try_from(BULK_OVERRIDES_MAX).unwrap_or(u32::MAX), after: None };
    let rows = tx.rules().list(tenant_id, &filter, &page).await?.items;
    Ok(rows.into_iter().map(|row| (row.id.to_string(), row)).collect())
}

fn revisions(rules: &HashMap<String, RuleRow>) -> BTreeMap<&str, u64> {
    rules.iter().map(|(id, row)| (id.as_str(), row.revision)).collect()
}

/// The first overrides that are replaced, as they were, for the audit log.
async fn replaced(change: &mut Change, new: &[StoredBody]) -> Result<Vec<Value>, ControlError> {
    let tenant_id = change.caller.tenant_id;
    let rows = change.tx.overrides().of_subjects(tenant_id, new, REPLACED_MAX).await?;
    let shown = |(id, spec): (OverrideId, Value)| json!({ "id": id.to_string(), "override": spec });
    Ok(rows.into_iter().map(shown).collect())
}

/// Validates the bodies against their rules. Returns the columns to store, or a problem that names the first invalid ones.
fn checked_all(
    bodies: &[OverrideBody],
    rows: &HashMap<String, RuleRow>,
    now: Timestamp,
) -> Result<Vec<StoredBody>, ControlError> {
    let mut rules: HashMap<&str, Rule> = HashMap::new();
    let mut subjects = HashSet::new();
    let mut wrong: Vec<FieldProblem> = Vec::new();
    let mut stored = Vec::with_capacity(bodies.len());
    for (at, body) in bodies.iter().enumerate() {
        let rule = match rules.entry(&body.rule_id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let field = format!("overrides[{at}].rule_id");
                let row = rows.get(&body.rule_id);
                let row = row
                    .ok_or_else(|| Problem::invalid_field(field, "is not a rule of this tenant"))?;
                new.insert(CheckedRule::stored(row)?.rule)
            }
        };
        match checked(body, rule, now) {
            Ok(valid) if subjects.insert((valid.rule_id, valid.subject_digest)) => {
                stored.push(valid);
            }
            Ok(_) => wrong.push(FieldProblem::new(
                format!("overrides[{at}].subject"),
                "has another override in the same request",
            )),
            Err(fields) => wrong.extend(fields.into_iter().map(|field| {
                FieldProblem::new(format!("overrides[{at}].{}", field.field), field.reason)
            })),
        }
        if wrong.len() >= REPORTED_MAX {
            break;
        }
    }
    if wrong.is_empty() { Ok(stored) } else { Err(Problem::invalid(wrong).into()) }
}
