//! The filtered customers, one page at a time.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::customers::{CustomerCounts, CustomerEntry};
use weir_wire::page::Page;
use weir_wire::plans::PlanAnswer;

use crate::api::{Api, CustomerSearch};
use crate::charts::spark::{HEIGHT, WIDTH, spark};
use crate::components::data_table::{Column, TableOptions, table_in_url};
use crate::components::feedback::{Empty, Skeleton};
use crate::components::field::{Binding, Choice, TextField};
use crate::components::guide_link::GuideLink;
use crate::components::paged::{Paged, PagedTable};
use crate::components::remote_data::{fetch_data, show_latest_shaped};
use crate::components::url_state::url_text;
use crate::model::headroom::Headroom;
use crate::model::number::{grouped, signed};
use crate::model::{customer, subject};
use crate::pages::shell::TenantId;
use crate::pages::subject_link::two_lines;

/// The filter of the list, stored in the URL; cheap to copy.
#[derive(Debug, Clone, Copy)]
struct CustomerFilter {
    prefix: Binding<String>,
    /// The id of a plan; empty for any.
    plan: Binding<String>,
    /// `denied`, or empty for all by name.
    order: Binding<String>,
}

impl CustomerFilter {
    fn in_url() -> Self {
        let [plan, order] = [&["plan"], &["order"]].map(url_text);
        // The API filters by plan in the order of names only.
        let alone = |one: Binding<String>, other: Binding<String>| Binding {
            value: one.value,
            set: Callback::new(move |text: String| {
                if !text.is_empty() {
                    other.set.run(String::new());
                }
                one.set.run(text);
            }),
        };
        Self { prefix: url_text(&["q"]), plan: alone(plan, order), order: alone(order, plan) }
    }

    /// The customers to return; tracked.
    fn search(self) -> CustomerSearch {
        let plan = self.plan.value.get();
        let order = self.order.value.get();
        let order = if plan.is_empty() { order } else { String::new() };
        CustomerSearch { prefix: self.prefix.value.get(), plan, order }
    }

    /// Shows all customers.
    fn clear(self) {
        for part in [self.prefix, self.plan, self.order] {
            part.set.run(String::new());
        }
    }
}

/// The list with its filter; `writes` is incremented after each write.
#[component]
pub(super) fn List(
    attribute: String,
    plans: Vec<PlanAnswer>,
    writes: RwSignal<u32>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let filter = CustomerFilter::in_url();
    let attribute = StoredValue::new(attribute);
    let first = fetch_data(move || {
        writes.track();
        api.customers(&tenant.get(), &filter.search(), None)
    });
    let plans = plans.into_iter().map(|plan| (plan.id, plan.plan.name));
    let plans = [(String::new(), "Any plan".to_owned())].into_iter().chain(plans).collect();
    let orders = [("", "By name"), ("denied", "Most denied today")];
    let orders = orders.map(|(order, text)| (order.to_owned(), text.to_owned())).to_vec();
    view! {
        <div class="filter" role="search">
            <TextField label="Customer begins with" kind="search" value=filter.prefix />
            <Choice label="Plan" value=filter.plan options=plans />
            <Choice label="Order" value=filter.order options=orders />
        </div>
        {show_latest_shaped(first, Skeleton::Table, move |page| {
            view! { <Pages page filter attribute=attribute.get_value() /> }
        })}
        <p class="note">
            "Counts of this day of UTC, at most a few seconds old. Most used is the fullest limit now, of up to 20 rules that count by "<b>{attribute.get_value()}</b>" alone."
        </p>
    }
}

/// The first page and the pages loaded after it.
#[component]
fn Pages(
    page: Signal<Page<CustomerEntry>>,
    filter: CustomerFilter,
    attribute: String,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let next = move |cursor: Option<String>| {
        api.customers(&tenant.now(), &filter.search(), cursor.as_deref())
    };
    let is_filtered = Memo::new(move |_| filter.search() != CustomerSearch::default());
    let empty = move || {
        if is_filtered.get() {
            return view! {
                <Empty title="No matching customers">
                    <button type="button" class="button" on:click=move |_| filter.clear()>"Clear filters"</button>
                </Empty>
            }
            .into_any();
        }
        let attribute = attribute.clone();
        view! {
            <Empty title="No customers yet">
                <p>
                    "A customer is listed once it is assigned to a plan, or a check has its name in the attribute "<b>{attribute}</b>". "
                    <GuideLink page="plans" text="About customers" />
                </p>
            </Empty>
        }
        .into_any()
    };
    view! {
        <PagedTable
            paged=Paged::new(page, next)
            label="Customers"
            nouns=("customer", "customers")
            columns=columns()
            id=|entry| entry.customer.clone()
            view=table_in_url()
            options=TableOptions { is_virtual: true, ..TableOptions::default() }
            empty
        />
    }
}

fn columns() -> Vec<Column<CustomerEntry>> {
    let plan = |entry: &CustomerEntry| {
        entry.plan.as_ref().map(|plan| plan.name.clone()).unwrap_or_default()
    };
    vec![
        Column::text("customer", "Customer", |entry: &CustomerEntry| entry.customer.clone())
            .cell(|entry| customer_link(&entry.customer))
            .class("name"),
        Column::text("plan", "Plan", plan).cell(move |entry| match plan(entry) {
            none if none.is_empty() => view! { <span class="muted">"None"</span> }.into_any(),
            plan => two_lines(plan),
        }),
        Column::new("used", "Most used", |entry: &CustomerEntry| most_used(entry).0)
            .by_number(|entry| most_used(entry).1)
            .cell(used_cell),
        Column::number("allowed", "Allowed today", |entry: &CustomerEntry| entry.today.allowed),
        Column::number("denied", "Denied today", |entry: &CustomerEntry| entry.today.denied),
        Column::new("units", "Units today", |entry: &CustomerEntry| entry.today.units.to_string())
            .by_number(|entry| entry.today.units)
            .cell(|entry| signed(entry.today.units).into_any())
            .class("number"),
        Column::new("trend", "Last 7 days", |entry: &CustomerEntry| checks(entry).to_string())
            .by_number(|entry| i64::try_from(checks(entry)).unwrap_or(i64::MAX))
            .cell(trend_cell),
    ]
}

/// The used share of the fullest limit, as text and in percent; empty and -1 without one.
fn most_used(entry: &CustomerEntry) -> (String, i64) {
    let Some(near) = &entry.most_used else { return (String::new(), -1) };
    let headroom = Headroom::of(&near.limit);
    match headroom.left {
        None => ("Unknown".to_owned(), -1),
        Some(_) => {
            let percent = headroom.used_percent;
            (format!("{percent}%"), i64::try_from(percent).unwrap_or(100))
        }
    }
}

fn used_cell(entry: &CustomerEntry) -> AnyView {
    let Some(near) = &entry.most_used else {
        // A plan can deny the customer.
        return view! { <span class="muted">"–"</span> }.into_any();
    };
    let (tenant, page) = (expect_context::<TenantId>(), format!("rules/{}", near.rule_id));
    let rule = near.rule.clone();
    view! {
        <div class="spark">
            <span>{most_used(entry).0}</span>
            <A href=move || tenant.page(&page)>{rule}</A>
        </div>
    }
    .into_any()
}

/// The checks of the last days.
fn checks(entry: &CustomerEntry) -> u64 {
    entry.last_7_days.iter().map(|day| day.allowed + day.denied).sum()
}

/// The checks and denials of the last days, as lines.
fn trend_cell(entry: &CustomerEntry) -> AnyView {
    let each = |read: fn(&CustomerCounts) -> u64| -> Vec<u64> {
        entry.last_7_days.iter().map(read).collect()
    };
    let (all, denied) = (each(|day| day.allowed + day.denied), each(|day| day.denied));
    let most = all.iter().copied().max().unwrap_or(0);
    let text = format!(
        "{} checks in 7 days, {} denied",
        grouped(checks(entry)),
        grouped(denied.iter().sum())
    );
    view! {
        <div class="spark" title=text.clone()>
            <svg viewBox=format!("0 0 {WIDTH} {HEIGHT}") role="img" aria-label=text.clone()>
                <path class="checks" d=spark(&all, most) />
                <path class="denied" d=spark(&denied, most) />
            </svg>
        </div>
    }
    .into_any()
}

/// The customer with a link to its page, if an address can contain its name.
fn customer_link(name: &str) -> AnyView {
    let label = if name.is_empty() { "(empty)".to_owned() } else { subject::shown(name) };
    let Some(page) = customer::page(name) else { return two_lines(label) };
    let (tenant, title) = (expect_context::<TenantId>(), label.clone());
    view! {
        <div class="two-lines" title=title>
            <A href=move || tenant.page(&page)><bdi>{label.clone()}</bdi></A>
        </div>
    }
    .into_any()
}
