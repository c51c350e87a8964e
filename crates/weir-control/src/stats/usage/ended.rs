//! The stored usage of ended periods.

use std::fmt::Write as _;

use axum::response::{IntoResponse, Response};
use weir_domain::algorithm::Period;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::time::Timestamp;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::{Page, QuotaPeriodFilter, QuotaPeriodRow, Tx};
use weir_wire::quota_usage::{QuotaUsage, QuotaUsagePage};
use weir_wire::time::DateTime;

use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::rule_service::subject_of;
use crate::{csv, days};

/// The most lines of a table.
const LINES_MAX: u32 = 100_000;
/// The months before the present one in which a stored period can have begun: 25 of retention, and a year.
const MONTHS: u32 = 37;

/// The stored periods of all months that a tenant's rules can have.
pub(super) fn every_month(
    tenant_id: TenantId,
    namespaces: Option<Vec<String>>,
    rule_id: Option<RuleId>,
    now: Timestamp,
) -> QuotaPeriodFilter {
    let end_day = days::first_of_month(days::of(now));
    let first_day = (0..MONTHS).fold(end_day, |day, _| days::first_of_month(day - 1));
    QuotaPeriodFilter { tenant_id, first_day, end_day, now, namespaces, rule_id }
}

/// Parses a month, which must be one of `months`. Returns the stored periods that began in it.
pub(super) fn month(text: &str, months: &QuotaPeriodFilter) -> Result<QuotaPeriodFilter, Problem> {
    let first_day = days::parse("period", Some(text)).ok().flatten();
    let bounds = months.first_day..=months.end_day;
    let first_day = first_day
        .filter(|&day| days::first_of_month(day) == day && bounds.contains(&day))
        .ok_or_else(|| {
            let [from, to] = [months.first_day, months.end_day].map(days::text);
            let reason = format!("must be the first day of a month, from `{from}` to `{to}`");
            Problem::invalid_field("period", reason)
        })?;
    let end_day = days::first_of_month(first_day + 31);
    Ok(QuotaPeriodFilter { first_day, end_day, ..months.clone() })
}

/// One page of the stored periods.
pub(super) async fn page(
    tx: &mut Tx,
    filter: &QuotaPeriodFilter,
    periods: Vec<String>,
    query: ListQuery,
) -> Result<Response, ControlError> {
    let list = List::new(&["usage.ended", &format!("{:?}", scope(filter))], query)?;
    let page = list.page(|(namespace, rule, end, id, slot, key): Key| {
        let key = u128::from_str_radix(&key, 16).ok()?;
        Some((namespace, rule, end, id.parse().ok()?, slot, key))
    })?;
    let listing = tx.quota_periods().list(filter, &page).await?;
    let truncated = tx.quota_periods().is_full(filter).await?;
    let page = list.answer(listing, key, entry);
    let (data, next_cursor) = (page.data, page.next_cursor);
    let (subjects_from, error_at_most) = (None, None);
    Ok(Json(QuotaUsagePage { data, next_cursor, subjects_from, error_at_most, truncated, periods })
        .into_response())
}

/// All of the stored periods, as a table.
pub(super) async fn table(
    tx: &mut Tx,
    filter: &QuotaPeriodFilter,
) -> Result<Response, ControlError> {
    let listing = tx.quota_periods().list(filter, &Page { limit: LINES_MAX, after: None }).await?;
    if listing.more {
        let reason =
            format!("gives more than {LINES_MAX} lines: restrict it with `namespace` or `rule_id`");
        return Err(Problem::invalid_field("period", reason).into());
    }
    let mut text = String::from(
        "rule_id,namespace,rule,subject,period,from,to,used,limit,overage,counted_until\r\n",
    );
    for row in &listing.items {
        let (id, period) = (row.rule_id, &row.period);
        let [namespace, rule] = [&row.namespace, &row.rule].map(|name| csv::cell(name));
        let subject = csv::cell(&row.subject.to_string());
        let [from, to, until] = [row.from, row.to, row.counted_until].map(|at| DateTime(at).text());
        let (used, limit, over) = (row.used, row.limit, overage(row));
        write!(
            text,
            "{id},{namespace},{rule},{subject},{period},{from},{to},{used},{limit},{over},{until}\r\n"
        )
        .expect("writing to a string cannot fail");
    }
    Ok(csv::download("weir-quota-usage.csv", text))
}

type Key = (String, String, i64, String, u16, String);

fn key(row: &QuotaPeriodRow) -> Key {
    let (namespace, rule) = (row.namespace.clone(), row.rule.clone());
    let (id, subject) = (row.rule_id.to_string(), format!("{:x}", row.subject_key));
    (namespace, rule, row.to.as_millis(), id, row.slot, subject)
}

/// All of a filter but the time, which is later on each page.
fn scope(filter: &QuotaPeriodFilter) -> impl std::fmt::Debug {
    (filter.tenant_id, filter.first_day, &filter.namespaces, filter.rule_id)
}

fn overage(row: &QuotaPeriodRow) -> u64 {
    row.used.saturating_sub(row.limit)
}

fn entry(row: QuotaPeriodRow) -> QuotaUsage {
    let overage = Some(overage(&row));
    let period = Period::ALL.into_iter().find(|period| period.as_str() == row.period);
    QuotaUsage {
        rule_id: row.rule_id.to_string(),
        namespace: row.namespace,
        rule: row.rule,
        subject: subject_of(row.subject),
        period: period.unwrap_or(Period::None).into(),
        from: Some(row.from.into()),
        to: Some(row.to.into()),
        used: row.used,
        limit: row.limit,
        overage,
        counted_until: Some(row.counted_until.into()),
        denied: None,
    }
}
