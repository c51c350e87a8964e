//! `GET /tenants/{tenant}/usage`
//!
//! Redis stores counters under digests of subjects, so they cannot be listed. The sketches of the retained days name the
//! subjects, and the counters have their units.

pub(crate) mod ended;
pub(crate) mod metered;

use std::cmp::Ordering;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;
use weir_domain::algorithm::{Algorithm, Quota};
use weir_domain::calendar;
use weir_domain::time::{Micros, Timestamp};
use weir_http::json::Json;
use weir_http::params::Query;
use weir_http::problem::Problem;
use weir_store::{Listing, Page, RuleFilter, RuleHas, RuleRow};
use weir_wire::quota_usage::{QuotaUsage, QuotaUsagePage};
use weir_wire::time::DateTime;

use self::metered::{Counted, Key, charges, exceptions, subjects};
use super::parse_rule;
use crate::actor::{By, InNamespaces, Viewer};
use crate::csv::{self, TableFormat};
use crate::days;
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::names;
use crate::rule_service::{Exceptions, Inspected, inspect};
use crate::state::ControlState;

/// The filter and page of the usage.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct QuotaUsageQuery {
    /// The maximum number of subjects. A subject has an entry for each quota of its rule.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
    /// Only rules of this namespace.
    namespace: Option<String>,
    /// Only this rule.
    rule_id: Option<String>,
    /// The first day of a month: the stored usage of the periods that began in it, in the time zone of the quota, and have ended.
    /// One of `periods`.
    #[param(value_type = Option<String>, format = Date)]
    period: Option<String>,
    /// `csv`, with `period`: a table of all entries at once, of at most 100,000 lines; the same with `Accept: text/csv`.
    #[param(inline)]
    format: Option<TableFormat>,
}

/// The units that subjects have used of their quotas: in the present period, or with `period` in ended ones.
///
/// In the present period the units are those of the counters. The subjects are those that the statistics of the retained days name,
/// whose values are shorter than 128 characters and that no override allows or denies without a limit. Ended periods are stored for
/// 25 months; `counted_until` says until when their units are known.
#[utoipa::path(get, path = "/tenants/{tenant}/usage", operation_id = "usage_list", tag = "stats",
    params(("tenant" = String, Path, description = "`tenant_…`"), QuotaUsageQuery),
    responses((status = 200, description = "The usage", content(
        (QuotaUsagePage = "application/json"),
        (String = "text/csv"),
    ))))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    headers: HeaderMap,
    Query(query): Query<QuotaUsageQuery>,
) -> Result<Response, ControlError> {
    let (tenant_id, now) = (caller.tenant_id, control.clock.now());
    let namespaces = caller.namespaces.filter(names::namespace_filter(query.namespace)?)?;
    let rule_id = parse_rule(query.rule_id)?;
    let months = ended::every_month(tenant_id, namespaces.clone(), rule_id, now);
    let month = query.period.map(|period| ended::month(&period, &months)).transpose()?;
    let is_table = csv::is_wanted(&headers, query.format);
    if is_table && month.is_none() {
        return Err(Problem::invalid_field("period", "must be given for a table").into());
    }
    let list_query = ListQuery { limit: query.limit, cursor: query.cursor };
    let mut tx = control.reading("stats.usage", &caller).await?;
    if let (true, Some(month)) = (is_table, &month) {
        return ended::table(&mut tx, month).await;
    }
    let periods = tx.quota_periods().months(&months).await?.into_iter().map(days::text).collect();
    if let Some(month) = &month {
        return ended::page(&mut tx, month, periods, list_query).await;
    }
    let of = ["usage", &tenant_id.to_string(), &format!("{namespaces:?} {rule_id:?}")];
    let list = List::new(&of, list_query)?;
    let page = list.page(|key: Key| Some(key))?;
    let filter = RuleFilter {
        namespaces,
        ids: rule_id.map(|id| vec![id]),
        has: Some(RuleHas::Quota),
        search: None,
    };
    let known = subjects(&mut tx, tenant_id, &filter, (now, control.settings.retention)).await?;
    let rules = known.rules;
    let listing = listed(known.counted, &page);
    let exceptions = exceptions(&mut tx, tenant_id, &rules, &listing.items, now).await?;
    drop(tx);
    let of_namespaces = listing.items.chunk_by(|one, other| one.key.0 == other.key.0);
    let mut data = Vec::new();
    for counted in of_namespaces {
        data.extend(used(&control, &rules, counted, &exceptions, now).await?);
    }
    let page = list.answer(listing, |last| last.key.clone(), |_| ());
    Ok(Json(QuotaUsagePage {
        data,
        next_cursor: page.next_cursor,
        subjects_from: Some(known.from.into()),
        error_at_most: Some(known.error_at_most),
        truncated: known.truncated,
        periods,
    })
    .into_response())
}

/// The subjects of the page, in their order.
fn listed(mut all: Vec<Counted>, page: &Page<Key>) -> Listing<Counted> {
    all.sort_by(|one, other| one.key.cmp(&other.key));
    if let Some(after) = &page.after {
        all.retain(|counted| counted.key.cmp(after) == Ordering::Greater);
    }
    let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
    let more = all.len() > limit;
    all.truncate(limit);
    Listing { items: all, more }
}

/// The entries of subjects of one namespace. A rule that cannot be read has none, nor has a subject that its rule cannot count
/// any more.
async fn used(
    control: &ControlState,
    rules: &[RuleRow],
    counted: &[Counted],
    exceptions: &Exceptions,
    now: Timestamp,
) -> Result<Vec<QuotaUsage>, ControlError> {
    let charges = charges(rules, counted, exceptions, now)?;
    let Some(row) = counted.first().map(|counted| &rules[counted.rule]) else {
        return Ok(Vec::new());
    };
    let of_charges = charges.iter().map(|(_, charge)| charge);
    let read = inspect(control, row.tenant_id, &row.namespace, 1, of_charges).await;
    let mut entries = Vec::new();
    for ((counted, charge), inspected) in charges.iter().zip(read) {
        let inspected = inspected?;
        for (at, limit) in charge.limits().iter().enumerate() {
            let Algorithm::Quota(quota) = &limit.algorithm else { continue };
            let used = inspected.used(at, quota.limit())?;
            entries.extend(entry(&rules[counted.rule], counted, quota, used, &inspected));
        }
    }
    Ok(entries)
}

/// The entry of one quota. `None` after its end.
fn entry(
    row: &RuleRow,
    counted: &Counted,
    quota: &Quota,
    used: u64,
    inspected: &Inspected,
) -> Option<QuotaUsage> {
    let periods = calendar::bounds(quota, inspected.at);
    // After its end, a quota has nothing left, whatever was used.
    if periods.limit == 0 {
        return None;
    }
    let bound = |at: usize| -> Option<DateTime> {
        (!periods.never_renews()).then(|| Micros(periods.bounds_us[at]).timestamp().into())
    };
    Some(QuotaUsage {
        rule_id: row.id.to_string(),
        namespace: row.namespace.clone(),
        rule: row.name.clone(),
        subject: counted.subject.clone(),
        period: quota.calendar().period.into(),
        from: bound(1),
        to: bound(2),
        used,
        limit: quota.limit().saturating_mul(inspected.places()),
        overage: None,
        counted_until: None,
        denied: counted.denied,
    })
}
