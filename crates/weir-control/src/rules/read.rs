//! Reads of one rule: `GET /tenants/{tenant}/rules/{rule}` and its `/revisions`

use axum::extract::State;
use axum::response::Response;
use weir_http::json::Json;
use weir_http::params::{Path, Query};
use weir_store::RuleSpec;
use weir_wire::audit::Revision;
use weir_wire::page::Page;
use weir_wire::rules::RuleAnswer;

use crate::actor::{By, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::listing::ListQuery;
use crate::specs;
use crate::state::ControlState;

/// One rule; its revision is also the `ETag`.
#[utoipa::path(get, path = "/tenants/{tenant}/rules/{rule}", operation_id = "rules_read", tag = "rules",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("rule" = String, Path, description = "`rule_…`"),
    ),
    responses((status = 200, description = "The rule", body = RuleAnswer,
        headers(("ETag" = String, description = "The revision, for `If-Match`")))))]
pub(crate) async fn read(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Path((_, rule)): Path<(String, String)>,
) -> Result<Response, ControlError> {
    specs::read::<RuleSpec>(&control, "rules.read", &caller, &rule).await
}

/// The revisions of a rule with author, time, and content before and after; newest first.
#[utoipa::path(get, path = "/tenants/{tenant}/rules/{rule}/revisions", operation_id = "rules_revisions", tag = "rules",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("rule" = String, Path, description = "`rule_…`"),
        ListQuery,
    ),
    responses((status = 200, description = "The revisions", body = Page<Revision>)))]
pub(crate) async fn revisions(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Path((_, rule)): Path<(String, String)>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Revision>>, ControlError> {
    specs::revisions::<RuleSpec>(&control, "rules.revisions", &caller, &rule, query).await
}
