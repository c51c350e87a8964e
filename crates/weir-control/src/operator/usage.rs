//! `GET /operator/usage`

use std::fmt::Write as _;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;
use weir_domain::id::TenantId;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_http::problem::Problem;
use weir_store::{Page, UsageFilter, UsageRow};
use weir_wire::page::Page as PageBody;
use weir_wire::usage::UsageDay;

use crate::actor::Operator;
use crate::csv::{self, TableFormat};
use crate::days;
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
    format: Option<TableFormat>,
    /// The maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
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
    let csv = csv::is_wanted(&headers, query.format);
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
    let today = days::of(control.clock.now());
    let to = days::parse("to", query.to.as_deref())?.unwrap_or(today);
    let from = days::parse("from", query.from.as_deref())?.unwrap_or(to - (DAYS_DEFAULT - 1));
    if from > to || to - from >= DAYS_MAX {
        let reason = format!("must not be after `to`, nor more than {DAYS_MAX} days before it");
        return Err(Problem::invalid_field("from", reason));
    }
    let tenant_id = query.tenant.as_deref().map(str::parse::<TenantId>).transpose();
    let tenant_id =
        tenant_id.map_err(|invalid| Problem::invalid_field("tenant", invalid.to_string()))?;
    Ok(UsageFilter { from, to, tenant_id })
}

fn day(row: UsageRow) -> UsageDay {
    UsageDay {
        day: days::text(row.day),
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
        let name = csv::cell(row.tenant_name.as_deref().unwrap_or_default());
        let day = days::text(row.day);
        let id = row.tenant_id;
        let checks = row.checks;
        let subjects = row.subjects;
        let bytes = row.redis_bytes;
        let rows = row.postgres_rows;
        write!(text, "{day},{id},{name},{checks},{subjects},{bytes},{rows}\r\n")
            .expect("writing to a string cannot fail");
    }
    csv::download("weir-usage.csv", text)
}
