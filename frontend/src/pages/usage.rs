//! The units that subjects have used of their quotas, in the present period or in those of an earlier month.

use futures_util::{FutureExt as _, TryFutureExt as _};
use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::page::Page;
use weir_wire::quota_usage::{QuotaUsage, QuotaUsagePage};
use weir_wire::time::DateTime;

use crate::api::Api;
use crate::browser;
use crate::components::data_table::{Column, table_in_url};
use crate::components::feedback::{Empty, Skeleton, Warning};
use crate::components::field::{Binding, fresh_id};
use crate::components::guide_link::GuideLink;
use crate::components::namespace::namespace_in_url;
use crate::components::page::PageHeader;
use crate::components::paged::{Paged, PagedTable};
use crate::components::remote_data::{fetch_data, show_latest_shaped};
use crate::components::url_state::url_text;
use crate::model::number::{grouped, share};
use crate::model::subject;
use crate::pages::namespace_filter::NamespaceFilter;
use crate::pages::shell::TenantId;
use crate::pages::subject_link::subject_link;

#[component]
pub fn Usage() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (namespace, period) = (namespace_in_url(), url_text(&["period"]));
    let first = fetch_data(move || {
        api.quota_usage(&tenant.get(), &namespace.value.get(), &period.value.get(), None)
    });
    let months = first.latest(|page: QuotaUsagePage| page.periods).into();
    let entries = move |page: Signal<QuotaUsagePage>| {
        view! { <Entries page namespace=namespace.value period=period.value /> }
    };
    view! {
        <PageHeader title="Usage" lead="What subjects have used of their quotas.">
            <PeriodPicker period months />
            <NamespaceFilter namespace />
        </PageHeader>
        {show_latest_shaped(first, Skeleton::Table, entries)}
    }
}

/// A select of the present period and the months with stored periods.
#[component]
fn PeriodPicker(period: Binding<String>, months: Signal<Vec<String>>) -> impl IntoView {
    let id = fresh_id();
    let options = move || {
        let chosen = period.value.get();
        let mut months = months.get();
        if !chosen.is_empty() && !months.contains(&chosen) {
            months.push(chosen.clone());
        }
        let option = |month: String| {
            let (is_chosen, label) = (month == chosen, month.get(..7).unwrap_or(&month).to_owned());
            view! { <option value=month prop:selected=is_chosen>{label}</option> }
        };
        months.into_iter().map(option).collect::<Vec<_>>()
    };
    let none = move || period.value.with(String::is_empty);
    view! {
        <div class="field namespace-picker">
            <label for=id.clone()>"Period"</label>
            <select id=id on:change=move |event| period.set.run(event_target_value(&event))>
                <option value="" prop:selected=none>"Present"</option>
                {options}
            </select>
        </div>
    }
}

/// The first page and the pages loaded after it.
#[component]
fn Entries(
    page: Signal<QuotaUsagePage>,
    namespace: Signal<String>,
    period: Signal<String>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let plain = |page: QuotaUsagePage| Page { data: page.data, next_cursor: page.next_cursor };
    let first = Signal::derive(move || plain(page.get()));
    let next = move |cursor: Option<String>| {
        let usage = api.quota_usage(&tenant.now(), &namespace.get(), &period.get(), cursor);
        usage.map_ok(plain).boxed_local()
    };
    view! {
        {move || notes(&page.get())}
        <PagedTable
            paged=Paged::new(first, next)
            label="Usage"
            nouns=("quota", "quotas")
            columns=columns()
            id=|entry| format!("{} {:?} {} {:?} {:?}", entry.rule_id, entry.period, entry.limit, entry.to, entry.subject)
            view=table_in_url()
            empty=|| view! {
                <Empty title="No usage of quotas">
                    <p>"A subject is listed once a rule with a calendar quota has counted one of its checks. "<GuideLink page="algorithms" text="About quotas" /></p>
                </Empty>
            }
        />
    }
}

/// How complete the list is.
fn notes(page: &QuotaUsagePage) -> AnyView {
    let listed = page.subjects_from.map_or_else(
        || {
            "Listed are ended periods that began in this month. Units after the time in Counted until are not known.".to_owned()
        },
        |since| {
            let since = browser::local_time(since.0.as_millis());
            format!("Used units are exact. Listed are subjects with a check since {since}.")
        },
    );
    let missing = match page.error_at_most {
        None | Some(0) => String::new(),
        Some(most) => {
            format!(" Subjects with up to {} checks since then can be missing.", grouped(most))
        }
    };
    let truncated = page.truncated.then(|| {
        view! { <Warning><p>"There are more quotas or subjects than a list can have."</p></Warning> }
    });
    view! {
        <p class="note">{listed}{missing}</p>
        {truncated}
    }
    .into_any()
}

fn columns() -> Vec<Column<QuotaUsage>> {
    let rule = |entry: &QuotaUsage| format!("{} / {}", entry.namespace, entry.rule);
    let millionths =
        |entry: &QuotaUsage| u128::from(entry.used) * 1_000_000 / u128::from(entry.limit.max(1));
    let at = |at: Option<DateTime>| at.map(DateTime::text).unwrap_or_default();
    vec![
        Column::text("rule", "Rule", rule).cell(move |entry| {
            let (tenant, page) = (expect_context::<TenantId>(), format!("rules/{}", entry.rule_id));
            let name = rule(entry);
            view! { <A href=move || tenant.page(&page)>{name}</A> }.into_any()
        }),
        Column::text("subject", "Subject", |entry: &QuotaUsage| subject::label(&entry.subject))
            .cell(|entry| subject_link(&entry.subject)),
        Column::new("from", "From", move |entry: &QuotaUsage| at(entry.from))
            .cell(|entry| day(entry.from)),
        Column::new("to", "To", move |entry: &QuotaUsage| at(entry.to)).cell(|entry| day(entry.to)),
        Column::number("used", "Used", |entry: &QuotaUsage| entry.used),
        Column::number("limit", "Limit", |entry: &QuotaUsage| entry.limit),
        Column::new("share", "Share", |entry: &QuotaUsage| share(entry.used, entry.limit))
            .by_number(move |entry| i64::try_from(millionths(entry)).unwrap_or(i64::MAX))
            .class("number"),
        optional("overage", "Overage", |entry| entry.overage, "Used units beyond the limit"),
        Column::new("until", "Counted until", move |entry: &QuotaUsage| at(entry.counted_until))
            .cell(|entry| match entry.counted_until {
                None => "now".into_any(),
                until if until == entry.to => "the end".into_any(),
                until => day(until),
            }),
        optional(
            "denied",
            "Denied checks",
            |entry| entry.denied,
            "At least, since the start of the statistics",
        ),
    ]
}

/// A number that can be unknown.
fn optional(
    key: &'static str,
    name: &'static str,
    read: fn(&QuotaUsage) -> Option<u64>,
    title: &'static str,
) -> Column<QuotaUsage> {
    let text = move |entry: &QuotaUsage| read(entry).map(|n| n.to_string()).unwrap_or_default();
    let number =
        move |entry: &QuotaUsage| i64::try_from(read(entry).unwrap_or(0)).unwrap_or(i64::MAX);
    Column::new(key, name, text)
        .by_number(number)
        .cell(move |entry| {
            let text = read(entry).map_or_else(|| "–".to_owned(), grouped);
            view! { <span title=title>{text}</span> }.into_any()
        })
        .class("number")
}

/// A bound of a period.
fn day(at: Option<DateTime>) -> AnyView {
    at.map_or_else(|| "–".into_any(), |at| browser::local_time(at.0.as_millis()).into_any())
}
