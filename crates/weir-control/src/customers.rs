//! Customers: `GET /tenants/{tenant}/customers`, `…/{customer}` and `…/{customer}/usage`

pub(crate) mod view;

use std::fmt::Write as _;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use weir_domain::names;
use weir_http::json::Json;
use weir_http::params::{Path, Query};
use weir_http::problem::Problem;
use weir_store::{AssignmentFilter, CustomerRow, Listing, Page as StorePage};
use weir_wire::customers::{
    CUSTOMER_USAGE_DAYS_MAX, CustomerAnswer, CustomerCounts, CustomerDay, CustomerEntry,
    CustomerRuleCounts, CustomerUsage, PlanName,
};
use weir_wire::page::Page;

use crate::actor::{By, Viewer};
use crate::assignments::assignment_answer;
use crate::csv::{self, TableFormat};
use crate::days;
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::plans::plan_filter;
use crate::state::ControlState;

/// The most assignments that the answer about one customer lists.
const ASSIGNMENTS_LISTED_MAX: u32 = 50;

/// The customers to list.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CustomersQuery {
    /// Only those whose names begin with this text.
    #[param(max_length = 512)]
    query: Option<String>,
    /// Only those that are on this plan now: `plan_…`. Not with `order=denied`.
    plan: Option<String>,
    /// `customer`: by name. `denied`: those that were denied today, the most denied first, on one page.
    #[param(inline, default = "customer")]
    order: Option<CustomerOrder>,
    /// The maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// The order of customers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum CustomerOrder {
    Customer,
    Denied,
}

/// The days and the format of a customer's usage.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CustomerUsageQuery {
    /// The first day of UTC; default: the first day of the month of `to`.
    #[param(value_type = Option<String>, format = Date)]
    from: Option<String>,
    /// The last day of UTC; default: today. At most 400 days in all.
    #[param(value_type = Option<String>, format = Date)]
    to: Option<String>,
    /// `day`, the only step.
    #[param(default = "day", pattern = "^day$")]
    step: Option<String>,
    /// `csv`: a table; the same with `Accept: text/csv`.
    #[param(inline)]
    format: Option<TableFormat>,
}

/// The customers that have assignments or counts, with their plans and the counts of today.
#[utoipa::path(get, path = "/tenants/{tenant}/customers", operation_id = "customers_list", tag = "plans",
    params(("tenant" = String, Path, description = "`tenant_…`"), CustomersQuery),
    responses((status = 200, description = "The customers", body = Page<CustomerEntry>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
    Query(query): Query<CustomersQuery>,
) -> Result<Json<Page<CustomerEntry>>, ControlError> {
    let (tenant_id, now) = (caller.tenant_id, control.clock.now());
    let CustomersQuery { query: prefix, plan, order, limit, cursor } = query;
    let prefix = prefix.unwrap_or_default();
    names::value(&prefix).map_err(|reason| Problem::invalid_field("query", reason))?;
    let plan_id = plan_filter(plan.as_deref())?;
    let by_denied = order == Some(CustomerOrder::Denied);
    if by_denied && plan_id.is_some() {
        return Err(Problem::invalid_field("plan", "must be left out with `order=denied`").into());
    }
    if by_denied && cursor.is_some() {
        return Err(Problem::invalid_field("cursor", "is not a cursor of this list").into());
    }
    let of = ["customers", &tenant_id.to_string(), &prefix, plan.as_deref().unwrap_or_default()];
    let list = List::new(&of, ListQuery { limit, cursor })?;
    let StorePage { limit, after } = list.page(|name: String| Some(name))?;
    let after = after.unwrap_or_default();
    let mut tx = control.reading("customers.list", &caller).await?;
    let today = days::of(now);
    let days = tx.customer_days();
    let mut names = match plan_id {
        _ if by_denied => days.most_denied(tenant_id, today, &prefix, limit).await?,
        Some(plan) => {
            days.names_on_plan(tenant_id, plan, now, [&prefix, &after], limit + 1).await?
        }
        None => days.names(tenant_id, &prefix, &after, limit + 1).await?,
    };
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = names.len() > most;
    names.truncate(most);
    let items = tx.customer_days().of_names(tenant_id, &names, now, today).await?;
    let listing = Listing { items, more };
    Ok(Json(list.answer(listing, |row| row.customer.clone(), entry)))
}

/// A customer with its plan, its assignments, and the counts of today.
#[utoipa::path(get, path = "/tenants/{tenant}/customers/{customer}", operation_id = "customers_read", tag = "plans",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("customer" = String, Path, description = "The value of the customer attribute in checks"),
    ),
    responses((status = 200, description = "The customer", body = CustomerAnswer)))]
pub(crate) async fn read(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
    Path((_, customer)): Path<(String, String)>,
) -> Result<Json<CustomerAnswer>, ControlError> {
    checked(&customer)?;
    let (tenant_id, now) = (caller.tenant_id, control.clock.now());
    let mut tx = control.reading("customers.read", &caller).await?;
    let filter = AssignmentFilter { customer: Some(customer.clone()), ..Default::default() };
    let page = StorePage { limit: ASSIGNMENTS_LISTED_MAX, after: None };
    let assignments = tx.assignments().list(tenant_id, &filter, &page).await?;
    let names = [customer];
    let rows = tx.customer_days().of_names(tenant_id, &names, now, days::of(now)).await?;
    let row = rows.into_iter().next().ok_or_else(Problem::not_found)?;
    let CustomerEntry { customer, plan, today } = entry(row);
    let assignments = assignments.items.iter().map(assignment_answer).collect();
    Ok(Json(CustomerAnswer { customer, plan, assignments, today }))
}

/// The counts of a customer by day of UTC and by rule: exact, within the tenant's ceiling of customers a day.
///
/// Counts are at most a few seconds old. A gate that is killed loses those of its last five seconds.
#[utoipa::path(get, path = "/tenants/{tenant}/customers/{customer}/usage", operation_id = "customers_usage", tag = "plans",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("customer" = String, Path, description = "The value of the customer attribute in checks"),
        CustomerUsageQuery,
    ),
    responses((status = 200, description = "The counts", content(
        (CustomerUsage = "application/json"),
        (String = "text/csv"),
    ))))]
pub(crate) async fn usage(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
    Path((_, customer)): Path<(String, String)>,
    headers: HeaderMap,
    Query(query): Query<CustomerUsageQuery>,
) -> Result<Response, ControlError> {
    checked(&customer)?;
    if query.step.is_some_and(|step| step != "day") {
        return Err(Problem::invalid_field("step", "must be `day`").into());
    }
    let last = days::parse("to", query.to.as_deref())?;
    let last = last.unwrap_or_else(|| days::of(control.clock.now()));
    let first = days::parse("from", query.from.as_deref())?;
    let first = first.unwrap_or_else(|| days::first_of_month(last));
    if first > last || last - first >= CUSTOMER_USAGE_DAYS_MAX {
        let most = CUSTOMER_USAGE_DAYS_MAX;
        let reason = format!("must not be after `to`, nor {most} days or more before it");
        return Err(Problem::invalid_field("from", reason).into());
    }
    let tenant_id = caller.tenant_id;
    let mut tx = control.reading("customers.usage", &caller).await?;
    let range = [first, last];
    let rows = tx.customer_days().of_customer(tenant_id, &customer, range).await?;
    let complete = !tx.customer_days().has_others(tenant_id, range).await?;
    if csv::is_wanted(&headers, query.format) {
        return Ok(csv::download("weir-customer-usage.csv", table(&customer, &rows)));
    }
    let by_day = rows.chunk_by(|one, other| one.day == other.day);
    let days = by_day.map(day).collect();
    Ok(Json(CustomerUsage { days, complete }).into_response())
}

fn checked(customer: &str) -> Result<(), Problem> {
    names::value(customer).map_err(|reason| Problem::invalid_field("customer", reason))
}

fn entry(row: CustomerRow) -> CustomerEntry {
    CustomerEntry {
        customer: row.customer,
        plan: row.plan.map(|(id, name)| PlanName { id: id.to_string(), name }),
        today: counts(row.counts),
    }
}

/// The rows of one day.
fn day(rows: &[weir_store::CustomerDay]) -> CustomerDay {
    let whole = rows.iter().find(|row| row.rule_id.is_none());
    let rules = rows.iter().filter_map(|row| {
        let (namespace, rule) = row.name.clone().unzip();
        let rule_id = row.rule_id?.to_string();
        Some(CustomerRuleCounts { rule_id, namespace, rule, counts: counts(row.counts) })
    });
    CustomerDay {
        day: rows.first().map(|row| days::text(row.day)).unwrap_or_default(),
        counts: whole.map(|row| counts(row.counts)).unwrap_or_default(),
        rules: rules.collect(),
    }
}

fn counts(counts: weir_store::CustomerCounts) -> CustomerCounts {
    let weir_store::CustomerCounts { allowed, denied, units } = counts;
    CustomerCounts { allowed, denied, units }
}

/// A line for each day and rule; those without a rule count whole checks.
fn table(customer: &str, rows: &[weir_store::CustomerDay]) -> String {
    let mut text = String::from("day,customer,rule_id,namespace,rule,allowed,denied,units\r\n");
    let customer = csv::cell(customer);
    for row in rows {
        let day = days::text(row.day);
        let id = row.rule_id.map(|id| id.to_string()).unwrap_or_default();
        let name = row.name.as_ref();
        let [namespace, rule] = [name.map(|name| &name.0), name.map(|name| &name.1)]
            .map(|part| part.map(|part| csv::cell(part)).unwrap_or_default());
        let weir_store::CustomerCounts { allowed, denied, units } = row.counts;
        write!(text, "{day},{customer},{id},{namespace},{rule},{allowed},{denied},{units}\r\n")
            .expect("writing to a string cannot fail");
    }
    text
}
