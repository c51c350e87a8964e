//! `GET /tenants/{tenant}/rules/{rule}/revisions`

use axum::extract::State;
use weir_domain::id::RuleId;
use weir_http::json::Json;
use weir_http::params::{Path, Query};
use weir_http::problem::Problem;
use weir_wire::audit::Revision;
use weir_wire::page::Page;

use crate::actor::{By, InNamespaces, Viewer};
use crate::audit::revision;
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::state::ControlState;

/// The revisions of a rule with author, time, and content before and after; newest first.
#[utoipa::path(get, path = "/tenants/{tenant}/rules/{rule}/revisions", operation_id = "rules_revisions", tag = "rules",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("rule" = String, Path, description = "`rule_…`"),
        ListQuery,
    ),
    responses((status = 200, description = "The revisions", body = Page<Revision>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Path((_, rule)): Path<(String, String)>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Revision>>, ControlError> {
    let rule_id: RuleId = rule.parse().map_err(|_| Problem::not_found())?;
    let list = List::new(&["revisions", &rule], query)?;
    let page = list.page(Some::<u64>)?;
    let mut tx = control.reading("rules.revisions", &caller).await?;
    let tenant_id = caller.tenant_id;
    let rule = tx.rules().find(tenant_id, rule_id).await?.ok_or_else(Problem::not_found)?;
    caller.namespaces.admit(&rule.namespace)?;
    let listing = tx.rules().revisions(tenant_id, rule_id, &page).await?;
    Ok(Json(list.answer(listing, |row| row.revision, revision)))
}
