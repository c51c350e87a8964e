//! `POST /tenants/{tenant}/rules/{rule}/revert`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::id::RuleId;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_wire::audit::RevertBody;
use weir_wire::rules::{RuleAnswer, RuleBody};

use crate::actor::{By, Editor, InNamespaces};
use crate::change::Object;
use crate::error::ControlError;
use crate::etag::IfMatch;
use crate::input::Input;
use crate::rule_service::CheckedRule;
use crate::rules::edited_answer;
use crate::rules::update::{find, replace};
use crate::state::ControlState;

/// Restore an older revision, as a new revision.
#[utoipa::path(post, path = "/tenants/{tenant}/rules/{rule}/revert", operation_id = "rules_revert", tag = "rules",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("rule" = String, Path, description = "`rule_…`"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` last read; without it the present revision is reverted"),
    ),
    request_body = RevertBody,
    responses(
        (status = 200, description = "Reverted", body = RuleAnswer,
            headers(("ETag" = String, description = "The revision, for `If-Match`"))),
        (status = 409, description = "The name is now in use, or existing overrides conflict"),
        (status = 412, description = "Someone else changed this while you were editing"),
    ))]
pub(crate) async fn revert(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Path((_, rule)): Path<(String, String)>,
    if_match: IfMatch,
    Input { body, once }: Input<RevertBody>,
) -> Result<Response, ControlError> {
    let rule_id: RuleId = rule.parse().map_err(|_| Problem::not_found())?;
    let expected = if_match.optional()?;
    let mut change = control.change("rules.revert", caller, once).await?;
    let before = find(&mut change, rule_id).await?;
    let tenant_id = change.caller.tenant_id;
    let wanted = change.tx.rules().revision(tenant_id, rule_id, body.revision).await?;
    let wanted = wanted
        .ok_or_else(|| Problem::invalid_field("revision", "names no revision of this rule"))?;
    let old: RuleBody = serde_json::from_value(wanted.after).map_err(Problem::internal)?;
    let checked = CheckedRule::new(old)?;
    change.caller.namespaces.admit(&checked.body.namespace)?;
    let expected = expected.unwrap_or(before.revision);
    let row = replace(&mut change, &before, &checked, expected, None).await?;
    let object = Object::new("rule", &rule_id);
    let spec = Some(before.spec.clone());
    change.audit("rule.revert", object, spec, Some(row.spec.clone()));
    change.answer(StatusCode::OK, &edited_answer(&before, &row)?).await
}
