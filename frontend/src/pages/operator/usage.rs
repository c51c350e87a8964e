//! The usage of tenants by day, as a table and as CSV.

use leptos::prelude::*;
use weir_wire::page::Page;
use weir_wire::time::DateTime;
use weir_wire::usage::UsageDay;

use crate::api::Api;
use crate::browser;
use crate::components::control_flow::Show;
use crate::components::data_table::{Column, DataTable, TableOptions};
use crate::components::feedback::{Empty, SubmitProblem};
use crate::components::remote_data::{fetch_data, show_table};
use crate::components::submit::SubmitAction;
use crate::model::number::grouped;
use crate::model::table_view::TableView;

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
    let action = SubmitAction::new();
    let days = RwSignal::new(page.data);
    let next = RwSignal::new(page.next_cursor);
    let more = move |_| {
        let page = api.usage(&since(), next.get_untracked());
        action.run(page, move |page| {
            days.update(|days| days.extend(page.data));
            next.set(page.next_cursor);
        });
    };
    let partial = Signal::derive(move || next.with(Option::is_some));
    let view = RwSignal::new(TableView::default());
    let options =
        TableOptions { partial: Some(partial), export: Some(export), ..TableOptions::default() };
    view! {
        <DataTable
            label="Usage by day and tenant"
            nouns=("row", "rows")
            rows=days
            columns=columns()
            id=|row| format!("{} {}", row.day, row.tenant_id)
            view=view.into()
            options
            empty=|| view! { <Empty title="No usage yet"><p>"The first values appear within ten minutes."</p></Empty> }
        />
        <Show when=move || partial.get()>
            <button type="button" class="button" disabled=action.busy on:click=more>"Load more"</button>
        </Show>
        <SubmitProblem problem=action.problem />
    }
}

fn columns() -> Vec<Column<UsageDay>> {
    let name = |row: &UsageDay| row.tenant_name.clone().unwrap_or_else(|| "(deleted)".to_owned());
    let number = |name: &'static str, title: &'static str, read: fn(&UsageDay) -> u64| {
        Column::new(name, title, move |row: &UsageDay| grouped(read(row)))
            .by_number(move |row| i64::try_from(read(row)).unwrap_or(i64::MAX))
            .class("number")
    };
    vec![
        Column::new("day", "Day", |row: &UsageDay| row.day.clone()),
        Column::new("tenant", "Tenant", name).by_text(name).cell(move |row| {
            view! { <div><div class="name">{name(row)}</div><div class="muted">{row.tenant_id.clone()}</div></div> }
                .into_any()
        }),
        number("checks", "Checks", |row| row.checks),
        number("subjects", "Subjects", |row| row.subjects),
        number("redis_bytes", "Redis bytes", |row| row.redis_bytes),
        number("postgres_rows", "Postgres rows", |row| row.postgres_rows),
    ]
}

/// The first day, in the format of the API.
fn since() -> String {
    let at_ms = browser::now_ms() - (DAYS - 1) * DAY_MS;
    let mut text = DateTime(weir_domain::time::Timestamp::from_millis(at_ms)).text();
    text.truncate(10);
    text
}
