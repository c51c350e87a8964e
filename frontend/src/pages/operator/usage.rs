//! The usage of tenants by day, as a table and as CSV.

use leptos::prelude::*;
use weir_wire::page::Page;
use weir_wire::time::DateTime;
use weir_wire::usage::UsageDay;

use crate::api::Api;
use crate::browser;
use crate::components::feedback::{Empty, SubmitProblem};
use crate::components::remote_data::{fetch_data, show};
use crate::components::submit::SubmitAction;
use crate::model::number::grouped;

/// The number of days shown, including today.
const DAYS: i64 = 30;
const DAY_MS: i64 = 86_400_000;

#[component]
pub(super) fn Usage() -> impl IntoView {
    let api = expect_context::<Api>();
    let first = fetch_data(move || async move { api.usage(&since(), None).await });
    let action = SubmitAction::new();
    let export = move |_| {
        action.run(async move { api.usage_table(&since()).await }, |table| {
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
            <button type="button" class="button" disabled=action.busy on:click=export>"Export CSV"</button>
            <SubmitProblem problem=action.problem />
            {show(first, |page| view! { <Days page /> })}
        </section>
    }
}

/// The days loaded so far, and a button that loads more.
#[component]
fn Days(page: Page<UsageDay>) -> impl IntoView {
    let api = expect_context::<Api>();
    let action = SubmitAction::new();
    let days = RwSignal::new(page.data);
    let next = RwSignal::new(page.next_cursor);
    let more = move |_| {
        let page = async move { api.usage(&since(), next.get_untracked()).await };
        action.run(page, move |page| {
            days.update(|days| days.extend(page.data));
            next.set(page.next_cursor);
        });
    };
    let rows = move || days.get().into_iter().map(row).collect::<Vec<_>>();
    view! {
        <Show
            when=move || days.with(|days| !days.is_empty())
            fallback=|| view! { <Empty title="No usage yet"><p>"The first values appear within ten minutes."</p></Empty> }
        >
            <div class="table-wrap" tabindex="0" role="region" aria-label="Usage by day and tenant">
                <table>
                    <thead><tr>
                        <th>"Day"</th><th>"Tenant"</th><th class="number">"Checks"</th><th class="number">"Subjects"</th>
                        <th class="number">"Redis bytes"</th><th class="number">"Postgres rows"</th>
                    </tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </Show>
        <Show when=move || next.with(Option::is_some)>
            <button type="button" class="button" disabled=action.busy on:click=more>"Load more"</button>
        </Show>
        <SubmitProblem problem=action.problem />
    }
}

fn row(row: UsageDay) -> impl IntoView {
    let name = row.tenant_name.unwrap_or_else(|| "(deleted)".to_owned());
    view! {
        <tr>
            <td>{row.day}</td>
            <td><div class="name">{name}</div><div class="muted">{row.tenant_id}</div></td>
            <td class="number">{grouped(row.checks)}</td>
            <td class="number">{grouped(row.subjects)}</td>
            <td class="number">{grouped(row.redis_bytes)}</td>
            <td class="number">{grouped(row.postgres_rows)}</td>
        </tr>
    }
}

/// The first day, in the format of the API.
fn since() -> String {
    let at_ms = browser::now_ms() - (DAYS - 1) * DAY_MS;
    let mut text = DateTime(weir_domain::time::Timestamp::from_millis(at_ms)).text();
    text.truncate(10);
    text
}
