//! `GET /tenants/{tenant}/stats/denials`

use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use weir_domain::id::TenantId;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_http::problem::Problem;
use weir_store::{DENIALS_DAYS, DENIALS_PER_SECOND, DenialFilter, DenialRow, Tx};
use weir_wire::stats::{DenialEntry, Denials};

use crate::actor::{By, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::names;
use crate::rule_service::subject_of;
use crate::state::ControlState;
use crate::stats::parse_rule;

/// The filter and page of denied checks.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct DenialsQuery {
    /// The maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
    /// Only checks that this rule refused.
    rule_id: Option<String>,
    /// Only checks of this namespace.
    namespace: Option<String>,
    /// Only checks of this customer, denied by a rule that counts by the customer attribute: its value as the rule counts it.
    #[param(max_length = 512)]
    customer: Option<String>,
}

/// The time for which the log is retained.
const RETAINED_S: u32 = DENIALS_DAYS as u32 * 24 * 60 * 60;

/// The refused checks of the last 30 days, newest first; a sample where there were very many, and at most 10,000.
#[utoipa::path(get, path = "/tenants/{tenant}/stats/denials", operation_id = "stats_denials", tag = "stats",
    params(("tenant" = String, Path, description = "`tenant_…`"), DenialsQuery),
    responses((status = 200, description = "The refused checks", body = Denials)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Query(query): Query<DenialsQuery>,
) -> Result<Json<Denials>, ControlError> {
    let tenant_id = caller.tenant_id;
    let namespace = names::namespace_filter(query.namespace)?;
    let namespaces = caller.namespaces.filter(namespace)?;
    let of = [
        "denials",
        &tenant_id.to_string(),
        query.rule_id.as_deref().unwrap_or("*"),
        &format!("{namespaces:?}"),
        &format!("{:?}", query.customer),
    ];
    if let Some(Err(reason)) = query.customer.as_deref().map(weir_domain::names::value) {
        return Err(Problem::invalid_field("customer", reason).into());
    }
    let list = List::new(&of, ListQuery { limit: query.limit, cursor: query.cursor })?;
    let rule_id = parse_rule(query.rule_id)?;
    let page = list.page(|key: String| key.parse().ok())?;
    let mut tx = control.reading("stats.denials", &caller).await?;
    let attribute = match query.customer {
        Some(customer) => Some((customer_attribute(&mut tx, tenant_id).await?, customer)),
        None => None,
    };
    let filter = DenialFilter { rule_id, namespaces, attribute, ..DenialFilter::of(tenant_id) };
    let counted = tx.denials().list(&filter, &page).await?;
    let page = list.answer(counted.counts, |row| row.id.to_string(), entry);
    Ok(Json(Denials {
        data: page.data,
        next_cursor: page.next_cursor,
        entries_per_second: DENIALS_PER_SECOND,
        retention_s: RETAINED_S,
        as_of: counted.as_of.into(),
    }))
}

/// The attribute that names the customers of the tenant.
async fn customer_attribute(tx: &mut Tx, tenant_id: TenantId) -> Result<String, ControlError> {
    let tenant = tx.tenants().find(tenant_id).await?.ok_or_else(Problem::not_found)?;
    let missing =
        || Problem::invalid_field("customer", "needs the `customer_attribute` of the tenant");
    Ok(tenant.customer_attribute.ok_or_else(missing)?)
}

/// A denied check in JSON.
pub(crate) fn entry(row: DenialRow) -> DenialEntry {
    DenialEntry {
        id: row.id.to_string(),
        at: row.at.into(),
        namespace: row.namespace,
        rule_id: row.rule_id.to_string(),
        rule: row.rule,
        shadow: row.shadow,
        subject: subject_of(row.subject),
        cost: row.cost,
        retry_after_ms: row.retry_after_ms,
        degraded: row.degraded,
        stands_for: row.stands_for,
        request_id: row.detail.request_id.map(|id| id.to_string()),
    }
}
