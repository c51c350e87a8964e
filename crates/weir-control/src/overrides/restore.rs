//! `POST /tenants/{tenant}/overrides/restore`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::names;
use weir_http::problem::Problem;
use weir_wire::overrides::{OverrideAnswer, RestoreOverrideBody};

use crate::actor::{By, Editor, InNamespaces};
use crate::error::ControlError;
use crate::input::Input;
use crate::overrides::write::{insert, replace_ended, rule_of};
use crate::overrides::{checked, override_answer};
use crate::state::ControlState;

/// Restore a deleted override, in the set of rules as code that owned it: the undo of a deletion.
///
/// It gets a new id. Whether it is `edited` is as before the deletion.
#[utoipa::path(post, path = "/tenants/{tenant}/overrides/restore", operation_id = "overrides_restore", tag = "overrides",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = RestoreOverrideBody,
    responses(
        (status = 201, description = "Created", body = OverrideAnswer),
        (status = 409, description = "The subject has an override, or the tenant has reached its limit of overrides"),
    ))]
pub(crate) async fn restore(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Input { body, once }: Input<RestoreOverrideBody>,
) -> Result<Response, ControlError> {
    let RestoreOverrideBody { body, managed_by, applied_digest } = body;
    check_owner(managed_by.as_deref(), applied_digest.as_deref())?;
    let mut change = control.change("overrides.restore", caller, once).await?;
    let below = |error: ControlError| error.below("override");
    let rule = rule_of(&mut change, &body.rule_id).await.map_err(below)?;
    let stored = checked(&body, &rule, change.now);
    let stored = stored.map_err(|fields| below(Problem::invalid(fields).into()))?;
    replace_ended(&mut change, &stored).await?;
    let mut row = insert(&control, &mut change, stored, managed_by.as_deref()).await?;
    if let Some(digest) = applied_digest {
        let tenant_id = change.caller.tenant_id;
        let id = row.id;
        let applied = change.tx.overrides().set_applied_digest(tenant_id, id, &digest).await?;
        row = applied.ok_or_else(Problem::not_found)?;
    }
    change.answer(StatusCode::CREATED, &override_answer(&row)?).await
}

fn check_owner(set: Option<&str>, digest: Option<&str>) -> Result<(), Problem> {
    if let Some(Err(reason)) = set.map(names::rule) {
        return Err(Problem::invalid_field("managed_by", reason));
    }
    let is_hexadecimal = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    match (digest, set) {
        (Some(_), None) => {
            Err(Problem::invalid_field("applied_digest", "must be null without `managed_by`"))
        }
        (Some(digest), _) if digest.len() != 32 || !digest.chars().all(is_hexadecimal) => {
            let reason = "must be the `applied_digest` of an override";
            Err(Problem::invalid_field("applied_digest", reason))
        }
        _ => Ok(()),
    }
}
