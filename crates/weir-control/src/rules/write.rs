//! Writes of a rule: `POST /tenants/{tenant}/rules`, `PUT` of one, and its `/revert`

use axum::extract::State;
use axum::response::Response;
use weir_http::params::Path;
use weir_store::RuleSpec;
use weir_wire::audit::RevertBody;
use weir_wire::rules::{RuleAnswer, RuleBody};

use crate::actor::{By, Editor, InNamespaces};
use crate::error::ControlError;
use crate::etag::IfMatch;
use crate::input::Input;
use crate::specs;
use crate::state::ControlState;

/// Create a rule. Every gate applies it from the `rulebook_version` in the answer.
#[utoipa::path(post, path = "/tenants/{tenant}/rules", operation_id = "rules_create", tag = "rules",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = RuleBody,
    responses(
        (status = 201, description = "Created", body = RuleAnswer),
        (status = 409, description = "The name is in use, or the tenant has reached its limit of rules"),
    ))]
pub(crate) async fn create(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    input: Input<RuleBody>,
) -> Result<Response, ControlError> {
    specs::create::<RuleSpec>(&control, "rules.create", caller, input).await
}

/// Replace a rule, based on the revision named in `If-Match`.
///
/// Limits whose algorithm is unchanged keep their counters.
#[utoipa::path(put, path = "/tenants/{tenant}/rules/{rule}", operation_id = "rules_update", tag = "rules",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("rule" = String, Path, description = "`rule_…`"),
        ("If-Match" = String, Header, description = "The `ETag` last read"),
    ),
    request_body = RuleBody,
    responses(
        (status = 200, description = "Replaced", body = RuleAnswer,
            headers(("ETag" = String, description = "The revision, for `If-Match`"))),
        (status = 409, description = "The name is in use, or existing overrides conflict"),
        (status = 412, description = "Someone else changed this while you were editing"),
        (status = 428, description = "`If-Match` is missing"),
    ))]
pub(crate) async fn update(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Path((_, rule)): Path<(String, String)>,
    if_match: IfMatch,
    input: Input<RuleBody>,
) -> Result<Response, ControlError> {
    specs::update::<RuleSpec>(&control, "rules.update", caller, &rule, if_match, input).await
}

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
    input: Input<RevertBody>,
) -> Result<Response, ControlError> {
    specs::revert::<RuleSpec>(&control, "rules.revert", caller, &rule, if_match, input).await
}
