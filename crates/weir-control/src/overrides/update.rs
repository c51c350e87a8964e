//! `PUT` and `DELETE /tenants/{tenant}/overrides/{override}`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_store::OverrideSpec;
use weir_wire::overrides::{OverrideAnswer, OverrideBody};

use crate::actor::{By, Editor, InNamespaces};
use crate::error::ControlError;
use crate::etag::IfMatch;
use crate::input::Input;
use crate::overrides::create::rule_of;
use crate::overrides::{checked, override_answer};
use crate::specs::{self, replace_stored};
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
