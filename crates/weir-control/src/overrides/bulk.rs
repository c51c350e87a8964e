//! `POST /tenants/{tenant}/overrides/bulk`

use std::collections::{HashMap, HashSet};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};
use weir_domain::id::OverrideId;
use weir_domain::rule::Rule;
use weir_http::problem::Problem;
use weir_store::{OverrideBody as StoredBody, OverrideBulk};
use weir_wire::overrides::{
    BULK_OVERRIDES_MAX, BulkOverridesAnswer, BulkOverridesBody, OverrideBody,
};
use weir_wire::problem::FieldProblem;

use crate::actor::{By, Editor};
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::input::Input;
use crate::overrides::checked;
use crate::overrides::create::{room, rule_of};
use crate::state::ControlState;

/// Wrong overrides that are reported before the rest is skipped.
const REPORTED_MAX: usize = 20;
/// Replaced overrides that the audit entry shows as they were. Their number is in `updated`.
const REPLACED_MAX: u32 = 100;

/// Make or replace many overrides at once: all of them or none.
#[utoipa::path(post, path = "/tenants/{tenant}/overrides/bulk", operation_id = "overrides_bulk", tag = "overrides",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = BulkOverridesBody,
    responses(
        (status = 200, description = "Written", body = BulkOverridesAnswer),
        (status = 409, description = "More than there may be"),
    ))]
pub(crate) async fn bulk(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    Input { body, once }: Input<BulkOverridesBody>,
) -> Result<Response, ControlError> {
    let count = body.overrides.len();
    if !(1..=BULK_OVERRIDES_MAX).contains(&count) {
        let reason = format!("must hold from 1 to {BULK_OVERRIDES_MAX} overrides");
        return Err(Problem::invalid_field("overrides", reason).into());
    }
    let mut change = control.change("overrides.bulk", caller, once).await?;
    let stored = checked_all(&mut change, &body.overrides).await?;
    let before = room(&control.settings, &mut change, 0).await?;
    let with_id = |body| (control.id(OverrideId::new), body);
    let replaced = replaced(&mut change, &stored).await?;
    let write = OverrideBulk {
        tenant_id: change.caller.tenant_id,
        rows: stored.into_iter().map(with_id).collect(),
        rulebook_version: change.version,
        now: change.now,
    };
    let written = change.tx.overrides().upsert_many(&write).await?;
    let created = room(&control.settings, &mut change, 0).await?.saturating_sub(before);
    let updated = written.saturating_sub(created);
    let object = Object::new("tenant", &change.caller.tenant_id);
    let before = json!({ "replaced": replaced });
    let after = json!({ "created": created, "updated": updated });
    change.audit("override.bulk", object, Some(before), Some(after)).await?;
    let rulebook_version = change.version;
    let answer = BulkOverridesAnswer { created, updated, rulebook_version };
    change.answer(StatusCode::OK, &answer).await
}

/// The first of the overrides that will be replaced, for the audit log.
async fn replaced(change: &mut Change, new: &[StoredBody]) -> Result<Vec<Value>, ControlError> {
    let tenant_id = change.caller.tenant_id;
    let rows = change.tx.overrides().of_subjects(tenant_id, new, REPLACED_MAX).await?;
    let shown = |(id, spec): (OverrideId, Value)| json!({ "id": id.to_string(), "override": spec });
    Ok(rows.into_iter().map(shown).collect())
}

async fn checked_all(
    change: &mut Change,
    bodies: &[OverrideBody],
) -> Result<Vec<StoredBody>, ControlError> {
    let mut rules: HashMap<&str, Rule> = HashMap::new();
    let mut subjects = HashSet::new();
    let mut wrong: Vec<FieldProblem> = Vec::new();
    let mut stored = Vec::with_capacity(bodies.len());
    for (at, body) in bodies.iter().enumerate() {
        if !rules.contains_key(body.rule_id.as_str()) {
            match rule_of(change, &body.rule_id).await {
                Ok(rule) => rules.insert(&body.rule_id, rule),
                Err(ControlError::Refused(_)) => {
                    let field = format!("overrides[{at}].rule_id");
                    return Err(Problem::invalid_field(field, "names no rule").into());
                }
                Err(error) => return Err(error),
            };
        }
        match checked(body, &rules[body.rule_id.as_str()], change.now) {
            Ok(checked) if subjects.insert((checked.rule_id, checked.subject_digest)) => {
                stored.push(checked)
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
