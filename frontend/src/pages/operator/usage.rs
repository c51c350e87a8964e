//! The usage of tenants by day, as a table and as CSV.

use leptos::prelude::*;
use weir_wire::page::Page;
use weir_wire::time::DateTime;
use weir_wire::usage::UsageDay;

use crate::api::Api;
use crate::browser;
use crate::components::data_table::{Column, TableOptions, own_view};
use crate::components::feedback::{Empty, SubmitProblem};
use crate::components::paged::{Paged, PagedTable};
use crate::components::remote_data::{fetch_data, show_table};
use crate::components::submit::SubmitAction;

/// The number of days shown, including today.
const DAYS: i64 = 30;
const DAY_MS: i64 = 86_400_000;

#[component]
pub(super) fn Usage() -> impl IntoView {
    let api = expect_context::<Api>();
    let first = fetch_data(move || api.usage(&since(), None));
    let action = SubmitAction::new();
    let export = move |()| {
        action.run(api.usage_table(&since()), |table| {
            browser::save_file("weir-usage.csv", "text/csv", &table);
        });
    };
    view! {
        <section class="panel" aria-label="Usage">
            <h2>"Usage"</h2>
            <p class="note">
                "The last 30 days (UTC). Checks are exact counts. Subjects and Redis bytes are estimated from a sample, Postgres \
                 rows are counted hourly; each value is the maximum of its day."
            </p>
            <button type="button" class="button" disabled=action.busy on:click=move |_| export(())>"Export CSV"</button>
            <SubmitProblem problem=action.problem />
            {show_table(first, move |page| view! { <Days page export=Callback::new(move |()| export(())) /> })}
        </section>
    }
}

/// The days loaded so far, and a button that loads more.
#[component]
fn Days(page: Page<UsageDay>, export: Callback<()>) -> impl IntoView {
    let api = expect_context::<Api>();
    view! {
        <PagedTable
            paged=Paged::new(Signal::stored(page), move |cursor| api.usage(&since(), cursor))
            label="Usage by day and tenant"
            nouns=("row", "rows")
            columns=columns()
            id=|row| format!("{} {}", row.day, row.tenant_id)
            view=own_view()
            options=TableOptions { export: Some(export), ..TableOptions::default() }
            empty=|| view! { <Empty title="No usage yet"><p>"The first values appear within ten minutes."</p></Empty> }
        />
    }
}

fn columns() -> Vec<Column<UsageDay>> {
    let name = |row: &UsageDay| row.tenant_name.clone().unwrap_or_else(|| "(deleted)".to_owned());
    vec![
        Column::new("day", "Day", |row: &UsageDay| row.day.clone()),
        Column::text("tenant", "Tenant", name).cell(move |row| {
            view! { <div><div class="name">{name(row)}</div><div class="muted">{row.tenant_id.clone()}</div></div> }
                .into_any()
        }),
        Column::number("checks", "Checks", |row: &UsageDay| row.checks),
        Column::number("subjects", "Subjects", |row: &UsageDay| row.subjects),
        Column::number("redis_bytes", "Redis bytes", |row: &UsageDay| row.redis_bytes),
        Column::number("postgres_rows", "Postgres rows", |row: &UsageDay| row.postgres_rows),
    ]
}

/// The first day, in the format of the API.
fn since() -> String {
    let at_ms = browser::now_ms() - (DAYS - 1) * DAY_MS;
    let mut text = DateTime(weir_domain::time::Timestamp::from_millis(at_ms)).text();
    text.truncate(10);
    text
}
