//! What tenants used, by day, as a table and as a file.

use leptos::prelude::*;
use weir_wire::page::Page;
use weir_wire::time::DateTime;
use weir_wire::usage::UsageDay;

use crate::api::Api;
use crate::browser;
use crate::components::act::Act;
use crate::components::feedback::{ActProblem, Empty};
use crate::components::load::{load, loaded};
use crate::model::number::grouped;

/// Days that are shown, today included.
const DAYS: i64 = 30;
const DAY_MS: i64 = 86_400_000;

/// The section.
#[component]
pub(super) fn Usage() -> impl IntoView {
    let api = expect_context::<Api>();
    let first = load(move || async move { api.usage(&since(), None).await });
    let act = Act::new();
    let export = move |_| {
        act.run(async move { api.usage_table(&since()).await }, |table| {
            browser::save_file("weir-usage.csv", "text/csv", &table);
        });
    };
    view! {
        <section class="panel" aria-label="Usage">
            <h2>"Usage"</h2>
            <p class="note">
                "The last 30 days (UTC). Checks are exact. Subjects and bytes in Redis are estimated from a sample, rows in Postgres are \
                 counted once an hour; each is the greatest of its day."
            </p>
            <button type="button" class="button" disabled=act.busy on:click=export>"Export CSV"</button>
            <ActProblem problem=act.problem />
            {loaded(first, |page| view! { <Days page /> })}
        </section>
    }
}

/// The days read so far, and a way to read more.
#[component]
fn Days(page: Page<UsageDay>) -> impl IntoView {
    let api = expect_context::<Api>();
    let act = Act::new();
    let days = RwSignal::new(page.data);
    let next = RwSignal::new(page.next_cursor);
    let more = move |_| {
        let asked = async move { api.usage(&since(), next.get_untracked()).await };
        act.run(asked, move |page| {
            days.update(|days| days.extend(page.data));
            next.set(page.next_cursor);
        });
    };
    let rows = move || days.get().into_iter().map(line).collect::<Vec<_>>();
    view! {
        <Show
            when=move || days.with(|days| !days.is_empty())
            fallback=|| view! { <Empty title="Nothing was used yet."><p>"The first figures appear within ten minutes."</p></Empty> }
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
            <button type="button" class="button" disabled=act.busy on:click=more>"Show more"</button>
        </Show>
        <ActProblem problem=act.problem />
    }
}

fn line(row: UsageDay) -> impl IntoView {
    let name = row.tenant_name.unwrap_or_else(|| "(deleted)".to_owned());
    view! {
        <tr>
            <td>{row.day}</td>
            <td><div class="name">{name}</div><div class="quiet">{row.tenant_id}</div></td>
            <td class="number">{grouped(row.checks)}</td>
            <td class="number">{grouped(row.subjects)}</td>
            <td class="number">{grouped(row.redis_bytes)}</td>
            <td class="number">{grouped(row.postgres_rows)}</td>
        </tr>
    }
}

/// The first day, as the API takes it.
fn since() -> String {
    let at_ms = browser::now_ms() - (DAYS - 1) * DAY_MS;
    let mut text = DateTime(weir_domain::time::Timestamp::from_millis(at_ms)).text();
    text.truncate(10);
    text
}
