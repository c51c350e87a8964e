//! `PUT /tenants/{tenant}/overrides/{override}`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::id::OverrideId;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_store::{OverrideBody as StoredBody, OverrideRow, OverrideWrite};
use weir_wire::overrides::{OverrideAnswer, OverrideBody};

use crate::actor::{By, Editor, InNamespaces};
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::etag::IfMatch;
use crate::input::Input;
use crate::overrides::create::rule_of;
use crate::overrides::{admit, checked, override_answer};
use crate::state::ControlState;

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
    let override_id: OverrideId = id.parse().map_err(|_| Problem::not_found())?;
    let mut change = control.change("overrides.update", caller, once).await?;
    let tenant_id = change.caller.tenant_id;
    let before = change.tx.overrides().find(tenant_id, override_id).await?;
    let before = before.ok_or_else(Problem::not_found)?;
    admit(&mut change.tx, &change.caller, &before).await?;
    let expected = if_match.required()?;
    if body.rule_id != before.rule_id.to_string() {
        return Err(Problem::invalid_field("rule_id", "must stay the same").into());
    }
    let rule = rule_of(&mut change, &body.rule_id).await?;
    let stored = checked(&body, &rule, change.now).map_err(Problem::invalid)?;
    let row = update_stored(&mut change, before, stored, expected, None).await?;
    change.answer(StatusCode::OK, &override_answer(&row)?).await
}

/// Replaces `before`, if it still has the expected revision, and records it in the audit log. From then on, the override
/// belongs to the set of rules as code that is given, or stays where it is.
pub(crate) async fn update_stored(
    change: &mut Change,
    before: OverrideRow,
    body: StoredBody,
    expected_revision: u64,
    managed_by: Option<&str>,
) -> Result<OverrideRow, ControlError> {
    let write = OverrideWrite {
        tenant_id: change.caller.tenant_id,
        id: before.id,
        body,
        managed_by: managed_by.map(str::to_owned),
        now: change.now,
    };
    let actor = &change.caller.actor;
    let row = change.tx.overrides().update(&write, expected_revision, actor).await?;
    let row = row.ok_or_else(Problem::not_found)?;
    let object = Object::new("override", &before.id);
    change.audit("override.update", object, Some(before.spec), Some(row.spec.clone()));
    Ok(row)
}
