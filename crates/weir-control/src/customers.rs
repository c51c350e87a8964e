//! Customers: `GET /tenants/{tenant}/customers`, `…/{customer}` and `…/{customer}/usage`

pub(crate) mod view;

use std::collections::HashMap;
use std::fmt::Write as _;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use weir_domain::counted::Form;
use weir_domain::id::TenantId;
use weir_domain::names;
use weir_domain::time::Timestamp;
use weir_http::json::Json;
use weir_http::params::{Path, Query};
use weir_http::problem::Problem;
use weir_store::{AssignmentFilter, CustomerRow, Listing, Page as StorePage, Tx};
use weir_wire::customers::{
    CUSTOMER_USAGE_DAYS_MAX, CustomerAnswer, CustomerCounts, CustomerDay, CustomerEntry,
    CustomerRuleCounts, CustomerUsage, PlanName,
};
use weir_wire::page::Page;
use weir_wire::subjects::NearLimit;

use crate::actor::{By, Viewer};
use crate::assignments::assignment_answer;
use crate::csv::{self, TableFormat};
use crate::days;
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::plans::plan_filter;
use crate::rule_service::CheckedRule;
use crate::state::ControlState;
use crate::subjects::limits::{CountedSubjects, Subject, fullest};

/// The most assignments that the answer about one customer lists.
const ASSIGNMENTS_LISTED_MAX: u32 = 50;
/// The most customers of a list with used shares, each of which costs the reading of a counter for each rule.
const USED_LIMIT_MAX: u32 = 50;
/// The most rules whose counters such a list reads.
const USED_RULES_MAX: u32 = 20;
/// The days whose counts a list has.
const LISTED_DAYS: u8 = 7;

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
    /// Whether items have `most_used`, from the counters of the rules that count by the customer attribute alone: the first 20, by
    /// namespace and name. Then `limit` is at most 50.
    #[param(default = false)]
    used: Option<bool>,
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
    let CustomersQuery { query: prefix, plan, order, used, limit, cursor } = query;
    let used = used.unwrap_or_default();
    if used && limit.is_some_and(|limit| limit > USED_LIMIT_MAX) {
        let reason = format!("must be at most {USED_LIMIT_MAX} with `used=true`");
        return Err(Problem::invalid_field("limit", reason).into());
    }
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
    let rows = tx.customer_days().of_names(tenant_id, &names, now, today).await?;
    let mut items: Vec<_> = rows.into_iter().map(entry).collect();
    add_days(&mut tx, tenant_id, &mut items, today).await?;
    let counted = if used { counted(&mut tx, tenant_id, &names, now).await? } else { None };
    drop(tx);
    if let Some(counted) = counted {
        let mut most_used = most_used(&control, &counted, now).await?;
        for item in &mut items {
            item.most_used = most_used.remove(&item.customer).map(|(_, limit)| limit);
        }
    }
    let listing = Listing { items, more };
    Ok(Json(list.answer(listing, |item| item.customer.clone(), |item| item)))
}

/// Adds the counts of the last days, of which `today` is one.
async fn add_days(
    tx: &mut Tx,
    tenant_id: TenantId,
    items: &mut [CustomerEntry],
    today: i32,
) -> Result<(), ControlError> {
    let first = today - i32::from(LISTED_DAYS) + 1;
    let names: Vec<_> = items.iter().map(|item| item.customer.clone()).collect();
    let rows = tx.customer_days().by_day(tenant_id, &names, [first, today]).await?;
    let places: HashMap<_, _> = names.into_iter().zip(0_usize..).collect();
    for (customer, day, found) in rows {
        let at = places.get(&customer).and_then(|place| items.get_mut(*place));
        let day = usize::try_from(day - first).ok();
        if let Some(counted) = at.zip(day).and_then(|(item, day)| item.last_7_days.get_mut(day)) {
            *counted = counts(found);
        }
    }
    Ok(())
}

/// The customers as subjects of the rules that count by their attribute alone. `None` if the tenant names no attribute.
async fn counted(
    tx: &mut Tx,
    tenant_id: TenantId,
    customers: &[String],
    now: Timestamp,
) -> Result<Option<CountedSubjects>, ControlError> {
    let tenant = tx.tenants().find(tenant_id).await?.ok_or_else(Problem::not_found)?;
    let Some(attribute) = tenant.customer_attribute else { return Ok(None) };
    let attributes = [attribute];
    let mut rows = tx.rules().counting_by(tenant_id, None, &attributes, USED_RULES_MAX).await?;
    // In a normal form, several customers can have one counter.
    rows.retain(|row| {
        CheckedRule::stored(row).is_ok_and(|stored| {
            stored.rule.count_by().iter().all(|counted| counted.form == Form::Plain)
        })
    });
    let [attribute] = attributes;
    let subject = |customer: &String| Subject::from([(attribute.clone(), customer.clone())]);
    let subjects: Vec<_> = customers.iter().map(subject).collect();
    let subjects = rows.iter().map(|row| (row.id, subjects.clone())).collect();
    Ok(Some(CountedSubjects::load(tx, tenant_id, rows, subjects, now, None).await?))
}

/// For each customer the limit of which it has used the greatest share, with the share.
async fn most_used(
    control: &ControlState,
    counted: &CountedSubjects,
    now: Timestamp,
) -> Result<HashMap<String, (u128, NearLimit)>, ControlError> {
    let mut most_used: HashMap<String, (u128, NearLimit)> = HashMap::new();
    for (subject, limits) in counted.limits(control, now).await? {
        // A customer's page is shown without Redis too.
        let limits = limits.map_or_else(|_| subject.unread_limits(now), |limits| limits.limits);
        let Some(customer) = subject.subject.values().next().cloned() else { continue };
        let Some(found) = fullest(&subject, limits) else { continue };
        let known = most_used.get(&customer);
        let unread = |(_, near): &(u128, NearLimit)| near.limit.remaining.is_none();
        let replaces =
            known.is_none_or(|known| !unread(known) && (unread(&found) || found.0 > known.0));
        if replaces {
            most_used.insert(customer, found);
        }
    }
    Ok(most_used)
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
    let CustomerEntry { customer, plan, today, .. } = entry(row);
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
        last_7_days: vec![CustomerCounts::default(); LISTED_DAYS.into()],
        most_used: None,
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
