//! The units that subjects have used of their quotas in the present period.

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
use crate::components::guide_link::GuideLink;
use crate::components::namespace::namespace_in_url;
use crate::components::page::PageHeader;
use crate::components::paged::{Paged, PagedTable};
use crate::components::remote_data::{fetch_data, show_latest_shaped};
use crate::model::number::{grouped, share};
use crate::model::subject;
use crate::pages::namespace_filter::NamespaceFilter;
use crate::pages::shell::TenantId;
use crate::pages::subject_link::subject_link;

#[component]
pub fn Usage() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let namespace = namespace_in_url();
    let first = fetch_data(move || api.quota_usage(&tenant.get(), &namespace.value.get(), None));
    view! {
        <PageHeader title="Usage" lead="What subjects have used of their quotas in the present period. Earlier periods are not stored.">
            <NamespaceFilter namespace />
        </PageHeader>
        {show_latest_shaped(first, Skeleton::Table, move |page| view! { <Entries page namespace=namespace.value /> })}
    }
}

/// The first page and the pages loaded after it.
#[component]
fn Entries(page: Signal<QuotaUsagePage>, namespace: Signal<String>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let plain = |page: QuotaUsagePage| Page { data: page.data, next_cursor: page.next_cursor };
    let first = Signal::derive(move || plain(page.get()));
    let next = move |cursor: Option<String>| {
        let usage = api.quota_usage(&tenant.now(), &namespace.get(), cursor);
        usage.map_ok(plain).boxed_local()
    };
    view! {
        {move || notes(&page.get())}
        <PagedTable
            paged=Paged::new(first, next)
            label="Usage"
            nouns=("quota", "quotas")
            columns=columns()
            id=|entry| format!("{} {:?} {} {:?}", entry.rule_id, entry.period, entry.limit, entry.subject)
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
    let since = browser::local_time(page.subjects_from.0.as_millis());
    let missing = match page.error_at_most {
        0 => String::new(),
        most => format!(" Subjects with up to {} checks since then can be missing.", grouped(most)),
    };
    let truncated = page.truncated.then(|| {
        view! { <Warning><p>"There are more quotas or subjects than a list can have. Choose a namespace."</p></Warning> }
    });
    view! {
        <p class="note">{format!("Used units are exact. Listed are subjects with a check since {since}.{missing}")}</p>
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
        Column::new("denied", "Denied checks", |entry: &QuotaUsage| {
            entry.denied.map(|denied| denied.to_string()).unwrap_or_default()
        })
        .by_number(|entry| i64::try_from(entry.denied.unwrap_or_default()).unwrap_or(i64::MAX))
        .cell(|entry| {
            let text = entry.denied.map_or_else(|| "–".to_owned(), grouped);
            view! { <span title="At least, since the start of the statistics">{text}</span> }
                .into_any()
        })
        .class("number"),
    ]
}

/// A bound of a period.
fn day(at: Option<DateTime>) -> AnyView {
    at.map_or_else(|| "–".into_any(), |at| browser::local_time(at.0.as_millis()).into_any())
}
