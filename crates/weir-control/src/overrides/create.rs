//! `POST /tenants/{tenant}/overrides`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::id::OverrideId;
use weir_domain::rule::Rule;
use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_store::{OverrideBody as StoredBody, OverrideRow, OverrideWrite};
use weir_wire::overrides::{OverrideAnswer, OverrideBody};
use weir_wire::problem::ErrorCode;

use crate::actor::{By, Editor, InNamespaces};
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::input::Input;
use crate::overrides::{checked, override_answer};
use crate::rule_service::CheckedRule;
use crate::state::{ControlSettings, ControlState};

/// Make an override: other limits, or none, for one subject of a rule.
#[utoipa::path(post, path = "/tenants/{tenant}/overrides", operation_id = "overrides_create", tag = "overrides",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = OverrideBody,
    responses(
        (status = 201, description = "Made", body = OverrideAnswer),
        (status = 409, description = "The subject has an override, or there are as many as there may be"),
    ))]
pub(crate) async fn create(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Input { body, once }: Input<OverrideBody>,
) -> Result<Response, ControlError> {
    let mut change = control.change("overrides.create", caller, once).await?;
    let rule = rule_of(&mut change, &body.rule_id).await?;
    let stored = checked(&body, &rule, change.now).map_err(Problem::invalid)?;
    let row = insert(&control, &mut change, stored, None).await?;
    change.answer(StatusCode::CREATED, &override_answer(&row)?).await
}

/// Inserts a checked override, which belongs to a set of rules as code if one is given, and records it in the audit log.
pub(crate) async fn insert(
    control: &ControlState,
    change: &mut Change,
    body: StoredBody,
    managed_by: Option<&str>,
) -> Result<OverrideRow, ControlError> {
    delete_ended(change, &body).await?;
    room(&control.settings, change, 1).await?;
    let write = OverrideWrite {
        tenant_id: change.caller.tenant_id,
        id: control.id(OverrideId::new),
        body,
        managed_by: managed_by.map(str::to_owned),
        now: change.now,
    };
    let row = change.tx.overrides().insert(&write).await?;
    let object = Object::new("override", &row.id);
    change.audit("override.create", object, None, Some(row.spec.clone())).await?;
    Ok(row)
}

/// Deletes an override of the same subject that has ended, unless it belongs to a set of rules as code.
async fn delete_ended(change: &mut Change, body: &StoredBody) -> Result<(), ControlError> {
    let (tenant_id, now) = (change.caller.tenant_id, change.now);
    let key = (body.rule_id, body.subject_digest);
    let found = change.tx.overrides().of_keys(tenant_id, &[key]).await?.into_iter();
    let mut ended = found.filter(|row| row.managed_by.is_none() && has_ended(row, now));
    if let Some(row) = ended.next() {
        change.tx.overrides().delete(tenant_id, row.id, None).await?;
        let object = Object::new("override", &row.id);
        change.audit("override.delete", object, Some(row.spec), None).await?;
    }
    Ok(())
}

/// Whether the limits of the rule apply again.
pub(crate) fn has_ended(row: &OverrideRow, now: Timestamp) -> bool {
    row.expires_at.is_some_and(|expires_at| expires_at <= now)
}

/// The rule that an override belongs to.
pub(crate) async fn rule_of(change: &mut Change, rule_id: &str) -> Result<Rule, ControlError> {
    let missing = || Problem::invalid_field("rule_id", "is not a rule of this tenant");
    let rule_id = rule_id.parse().map_err(|_| missing())?;
    let row = change.tx.rules().find(change.caller.tenant_id, rule_id).await?;
    let row = row.ok_or_else(missing)?;
    change.caller.namespaces.admit(&row.namespace)?;
    Ok(CheckedRule::stored(&row)?.rule)
}

/// Refuses overrides above the bound of the tenant.
pub(crate) async fn room(
    settings: &ControlSettings,
    change: &mut Change,
    more: u64,
) -> Result<u64, ControlError> {
    let count = change.tx.overrides().count(change.caller.tenant_id).await?;
    if count + more <= settings.overrides_per_tenant_max {
        return Ok(count);
    }
    let most = settings.overrides_per_tenant_max;
    let detail = format!("the tenant has {count} overrides; {most} is the most");
    Err(Problem::new(ErrorCode::Conflict, detail).into())
}
