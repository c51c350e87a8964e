//! `GET /operator/usage`

use std::fmt::Write as _;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use weir_domain::id::TenantId;
use weir_domain::time::Timestamp;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_http::problem::Problem;
use weir_store::{Page, UsageFilter, UsageRow};
use weir_wire::page::Page as PageBody;
use weir_wire::time::DateTime;
use weir_wire::usage::UsageDay;

use crate::actor::Operator;
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::state::ControlState;

/// The most days of one answer.
const DAYS_MAX: i32 = 366;
const DAYS_DEFAULT: i32 = 30;
/// The most lines of a table.
const LINES_MAX: u32 = 100_000;

/// The filter, page and format of usage.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct UsageQuery {
    /// The first day (UTC), `YYYY-MM-DD`; default: 29 days before the last one.
    #[param(value_type = Option<String>, format = Date)]
    from: Option<String>,
    /// The last day; default: today.
    #[param(value_type = Option<String>, format = Date)]
    to: Option<String>,
    /// Only this tenant, `tenant_…`.
    tenant: Option<String>,
    /// `csv`: a table of all days at once, of at most 100,000 lines; the same with `Accept: text/csv`.
    #[param(inline)]
    format: Option<UsageFormat>,
    /// The maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// The format of the usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum UsageFormat {
    /// Page by page.
    Json,
    /// Comma-separated values.
    Csv,
}

/// The usage of each tenant on each day, oldest day first; for operators.
///
/// Checks are exact; subjects and bytes are estimated from keys that are taken at random, and rows are counted once an hour.
#[utoipa::path(get, path = "/operator/usage", operation_id = "operator_usage", tag = "operator",
    params(UsageQuery),
    responses(
        (status = 200, description = "The usage", content(
            (PageBody<UsageDay> = "application/json"),
            (String = "text/csv"),
        )),
        (status = 404, description = "The caller is not an operator"),
    ))]
pub(crate) async fn usage(
    State(control): State<ControlState>,
    Operator(person): Operator,
    headers: HeaderMap,
    Query(query): Query<UsageQuery>,
) -> Result<Response, ControlError> {
    let filter = filter(&control, &query)?;
    let wants_csv = headers
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.trim().starts_with("text/csv"));
    let csv = query.format.map_or(wants_csv, |format| format == UsageFormat::Csv);
    let mut tx = person.begin(&control, "operator.usage").await?;
    if csv {
        let page = Page { limit: LINES_MAX, after: None };
        let listing = tx.usage().list(&filter, &page).await?;
        if listing.more {
            let reason = format!("gives more than {LINES_MAX} lines: ask for fewer days");
            return Err(Problem::invalid_field("from", reason).into());
        }
        return Ok(table(&listing.items));
    }
    let tenant = query.tenant.unwrap_or_default();
    let from = filter.from.to_string();
    let to = filter.to.to_string();
    let of = ["operator.usage", &from, &to, &tenant];
    let list = List::new(&of, ListQuery { limit: query.limit, cursor: query.cursor })?;
    let page = list.page(|(day, id): (i32, String)| Some((day, id.parse().ok()?)))?;
    let listing = tx.usage().list(&filter, &page).await?;
    let key = |row: &UsageRow| (row.day, row.tenant_id.to_string());
    Ok(Json(list.answer(listing, key, day)).into_response())
}

fn filter(control: &ControlState, query: &UsageQuery) -> Result<UsageFilter, Problem> {
    let today = i32::try_from(control.clock.now().as_millis().div_euclid(DAY_MS)).unwrap_or(0);
    let to = parse("to", query.to.as_deref())?.unwrap_or(today);
    let from = parse("from", query.from.as_deref())?.unwrap_or(to - (DAYS_DEFAULT - 1));
    if from > to || to - from >= DAYS_MAX {
        let reason = format!("must not be after `to`, nor more than {DAYS_MAX} days before it");
        return Err(Problem::invalid_field("from", reason));
    }
    let tenant_id = query.tenant.as_deref().map(str::parse::<TenantId>).transpose();
    let tenant_id =
        tenant_id.map_err(|invalid| Problem::invalid_field("tenant", invalid.to_string()))?;
    Ok(UsageFilter { from, to, tenant_id })
}

/// Parses a day into days since 1970-01-01.
fn parse(field: &str, text: Option<&str>) -> Result<Option<i32>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let at: Option<DateTime> = (text.len() == 10)
        .then(|| serde_json::from_value(format!("{text}T00:00:00Z").into()).ok())
        .flatten();
    let at =
        at.ok_or_else(|| Problem::invalid_field(field, "must be a day such as `2026-11-22`"))?;
    Ok(i32::try_from(at.0.as_millis().div_euclid(DAY_MS)).ok())
}

const DAY_MS: i64 = 86_400_000;

fn written(day: i32) -> String {
    let mut text = DateTime(Timestamp::from_millis(i64::from(day) * DAY_MS)).text();
    text.truncate(10);
    text
}

fn day(row: UsageRow) -> UsageDay {
    UsageDay {
        day: written(row.day),
        tenant_id: row.tenant_id.to_string(),
        tenant_name: row.tenant_name,
        checks: row.checks,
        subjects: row.subjects,
        redis_bytes: row.redis_bytes,
        postgres_rows: row.postgres_rows,
    }
}

/// The rows as a table (RFC 4180).
fn table(rows: &[UsageRow]) -> Response {
    let mut text =
        String::from("day,tenant_id,tenant_name,checks,subjects,redis_bytes,postgres_rows\r\n");
    for row in rows {
        let name = cell(row.tenant_name.as_deref().unwrap_or_default());
        let day = written(row.day);
        let id = row.tenant_id;
        let checks = row.checks;
        let subjects = row.subjects;
        let bytes = row.redis_bytes;
        let rows = row.postgres_rows;
        write!(text, "{day},{id},{name},{checks},{subjects},{bytes},{rows}\r\n")
            .expect("writing to a string cannot fail");
    }
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"weir-usage.csv\""),
    ];
    (headers, Body::from(text)).into_response()
}

/// A text as a cell. Spreadsheets read a text that begins with one of these signs as a formula, so it gets an apostrophe in
/// front.
fn cell(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = text.replace('"', "\"\"");
    if formula { format!("\"'{text}\"") } else { format!("\"{text}\"") }
}
