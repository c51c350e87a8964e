//! Writes of overrides: `POST /tenants/{tenant}/overrides`, `PUT` and `DELETE` of one of them

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::id::OverrideId;
use weir_domain::rule::Rule;
use weir_domain::time::Timestamp;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_store::{OverrideBody as StoredBody, OverrideRow, OverrideSpec};
use weir_wire::overrides::{OverrideAnswer, OverrideBody};
use weir_wire::problem::ErrorCode;

use crate::actor::{By, Editor, InNamespaces};
use crate::change::Change;
use crate::error::ControlError;
use crate::etag::IfMatch;
use crate::input::Input;
use crate::overrides::{checked, override_answer};
use crate::rule_service::CheckedRule;
use crate::specs::{self, delete_stored, insert_stored, replace_stored};
use crate::state::ControlState;

/// Create an override: other limits, or none, for one subject of a rule.
#[utoipa::path(post, path = "/tenants/{tenant}/overrides", operation_id = "overrides_create", tag = "overrides",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = OverrideBody,
    responses(
        (status = 201, description = "Created", body = OverrideAnswer),
        (status = 409, description = "The subject has an override, or the tenant has reached its limit of overrides"),
    ))]
pub(crate) async fn create(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Input { body, once }: Input<OverrideBody>,
) -> Result<Response, ControlError> {
    let mut change = control.change("overrides.create", caller, once).await?;
    let rule = rule_of(&mut change, &body.rule_id).await?;
    let stored = checked(&body, &rule, change.now).map_err(Problem::invalid)?;
    replace_ended(&mut change, &stored).await?;
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
    room(change, 1).await?;
    let id = control.id(OverrideId::new);
    insert_stored(change, id, body, managed_by).await
}

/// Deletes the override of the same subject, if it gives way to a new one.
pub(crate) async fn replace_ended(
    change: &mut Change,
    body: &StoredBody,
) -> Result<(), ControlError> {
    let key = (body.rule_id, body.subject_digest);
    let found = change.tx.overrides().of_keys(change.caller.tenant_id, &[key]).await?;
    for row in found {
        if gives_way(&row, change.now) {
            delete_stored::<OverrideSpec>(change, row.id, None).await?;
        }
    }
    Ok(())
}

/// Whether an override has ended and belongs to no set of rules as code, so that a new one can take its place.
pub(crate) fn gives_way(row: &OverrideRow, now: Timestamp) -> bool {
    row.managed_by.is_none() && !in_force(row, now)
}

/// Whether an override has not ended.
pub(crate) fn in_force(row: &OverrideRow, now: Timestamp) -> bool {
    row.expires_at.is_none_or(|at| now < at)
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
pub(crate) async fn room(change: &mut Change, more: u64) -> Result<u64, ControlError> {
    let count = change.tx.overrides().count(change.caller.tenant_id).await?;
    let most = change.settings().overrides_per_tenant_max;
    if count + more <= most {
        return Ok(count);
    }
    let detail = format!("the tenant has {count} overrides; {most} is the most");
    Err(Problem::new(ErrorCode::Conflict, detail).into())
}

/// Replace an override, based on the revision named in `If-Match`. It stays with its rule.
#[utoipa::path(put, path = "/tenants/{tenant}/overrides/{override}", operation_id = "overrides_update", tag = "overrides",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("override" = String, Path, description = "`override_…`"),
        ("If-Match" = String, Header, description = "The `ETag` last read"),
    ),
    request_body = OverrideBody,
    responses(
        (status = 200, description = "Replaced", body = OverrideAnswer,
            headers(("ETag" = String, description = "The revision, for `If-Match`"))),
        (status = 409, description = "The subject has another override"),
        (status = 412, description = "Someone else changed this while you were editing"),
        (status = 428, description = "`If-Match` is missing"),
    ))]
pub(crate) async fn update(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Path((_, id)): Path<(String, String)>,
    if_match: IfMatch,
    Input { body, once }: Input<OverrideBody>,
) -> Result<Response, ControlError> {
    let override_id = specs::parsed(&id)?;
    let mut change = control.change("overrides.update", caller, once).await?;
    let before = specs::find::<OverrideSpec>(&mut change.tx, &change.caller, override_id).await?;
    let expected = if_match.required()?;
    if body.rule_id != before.rule_id.to_string() {
        return Err(Problem::invalid_field("rule_id", "must stay the same").into());
    }
    let rule = rule_of(&mut change, &body.rule_id).await?;
    let stored = checked(&body, &rule, change.now).map_err(Problem::invalid)?;
    let row = replace_stored(&mut change, "update", &before, stored, expected, None).await?;
    change.answer(StatusCode::OK, &override_answer(&row)?).await
}

/// Delete an override: the rule's own limits apply again.
#[utoipa::path(delete, path = "/tenants/{tenant}/overrides/{override}", operation_id = "overrides_delete", tag = "overrides",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("override" = String, Path, description = "`override_…`"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` last read; without it any revision is deleted"),
    ),
    responses(
        (status = 204, description = "Deleted"),
        (status = 412, description = "Someone else changed this while you were editing"),
    ))]
pub(crate) async fn delete(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Path((_, id)): Path<(String, String)>,
    if_match: IfMatch,
) -> Result<Response, ControlError> {
    specs::delete::<OverrideSpec>(&control, "overrides.delete", caller, &id, if_match).await
}
