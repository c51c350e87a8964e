//! Reads of overrides: `GET /tenants/{tenant}/overrides`, and of one of them

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;
use weir_domain::id::RuleId;
use weir_http::json::Json;
use weir_http::params::{Path, Query};
use weir_http::problem::Problem;
use weir_store::{OverrideFilter, OverrideSpec};
use weir_wire::overrides::{
    OVERRIDES_SEARCHED_MAX, OVERRIDES_TOTAL_MAX, OverrideAnswer, OverridesPage,
};
use weir_wire::page::Page;

use crate::actor::{By, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::names;
use crate::overrides::override_answer;
use crate::specs;
use crate::state::ControlState;

/// The filter and page of overrides.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OverridesQuery {
    /// The maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
    /// Only overrides of this rule.
    rule_id: Option<String>,
    /// Only overrides of rules in this namespace.
    namespace: Option<String>,
    /// Only overrides with this text in a value of their subject, in any case; at most 256 characters.
    #[param(max_length = 256)]
    subject: Option<String>,
}

/// The tenant's overrides, oldest first.
#[utoipa::path(get, path = "/tenants/{tenant}/overrides", operation_id = "overrides_list", tag = "overrides",
    params(("tenant" = String, Path, description = "`tenant_…`"), OverridesQuery),
    responses((status = 200, description = "The overrides", body = OverridesPage)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Query(query): Query<OverridesQuery>,
) -> Result<Json<OverridesPage>, ControlError> {
    let tenant_id = caller.tenant_id;
    let subject = names::text_filter("subject", query.subject)?;
    let namespace = names::namespace_filter(query.namespace)?;
    let namespaces = caller.namespaces.filter(namespace)?;
    let of = [
        "overrides",
        &tenant_id.to_string(),
        query.rule_id.as_deref().unwrap_or("*"),
        &format!("{namespaces:?}"),
        subject.as_deref().unwrap_or(""),
    ];
    let list = List::new(&of, ListQuery { limit: query.limit, cursor: query.cursor })?;
    let rule_id: Option<RuleId> = match query.rule_id {
        None => None,
        Some(text) => {
            let invalid = |_| Problem::invalid_field("rule_id", "must be the id of a rule");
            Some(text.parse().map_err(invalid)?)
        }
    };
    let page = list.page(|key: String| key.parse().ok())?;
    let mut tx = control.reading("overrides.list", &caller).await?;
    let filter = OverrideFilter { rule_id, namespaces, subject };
    let listing = tx.overrides().list(tenant_id, &filter, &page).await?;
    let most = filter.subject.as_ref().map_or(OVERRIDES_TOTAL_MAX, |_| OVERRIDES_SEARCHED_MAX);
    let total = match page.after {
        None => tx.overrides().count_listed(tenant_id, &filter, most).await?,
        Some(_) => None,
    };
    let page = list.answer(listing, |row| row.id.to_string(), |row| override_answer(&row));
    let Page { data, next_cursor } = page;
    let data = data.into_iter().collect::<Result<_, _>>()?;
    Ok(Json(OverridesPage { data, next_cursor, total }))
}

/// One override; its revision is also the `ETag`.
#[utoipa::path(get, path = "/tenants/{tenant}/overrides/{override}", operation_id = "overrides_read", tag = "overrides",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("override" = String, Path, description = "`override_…`"),
    ),
    responses((status = 200, description = "The override", body = OverrideAnswer,
        headers(("ETag" = String, description = "The revision, for `If-Match`")))))]
pub(crate) async fn read(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Path((_, id)): Path<(String, String)>,
) -> Result<Response, ControlError> {
    specs::read::<OverrideSpec>(&control, "overrides.read", &caller, &id).await
}
