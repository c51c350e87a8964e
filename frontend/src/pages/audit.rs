//! The audit log: actor, action, origin, time, and the values before and after.

mod entry;

use leptos::prelude::*;
use weir_wire::audit::AuditEntry;
use weir_wire::page::Page;
use weir_wire::sessions::Me;
use weir_wire::tenants::Role;

use crate::access::Access;
use crate::api::Api;
use crate::browser;
use crate::components::feedback::{Empty, SubmitProblem};
use crate::components::field::{Binding, Choice, TextField};
use crate::components::page::PageHeader;
use crate::components::remote_data::{RemoteData, fetch_data, show, show_latest};
use crate::components::submit::SubmitAction;
use crate::components::url_state::url_state;
use crate::model::audit::{AuditFilter, AuditLog, actions, logs};
use crate::model::number::quantity;
use crate::pages::shell::TenantId;
use entry::Entry;

/// The page. People without the required role see the reason, and no request is sent.
#[component]
pub fn Audit() -> impl IntoView {
    let (access, me) = (expect_context::<Access>(), expect_context::<RemoteData<Me>>());
    let filter = url_state(|url| AuditFilter::of(|name| url.get(name)), query);
    let log = Memo::new(move |_| filter.value.get().log());
    let entries = move || {
        match access.missing_role(Role::Admin).filter(|_| log.get() == AuditLog::Tenant) {
            Some(reason) => view! { <Empty title="You need the admin role to view the audit log."><p>{reason}</p></Empty> }
                .into_any(),
            None => view! { <Log filter /> }.into_any(),
        }
    };
    let page = move |me: Me| {
        view! {
            <div class="filter">
                <Choice label="Log" value=of(filter, |filter| &mut filter.log) options=logs(me.user.operator) />
            </div>
            {entries}
        }
    };
    view! {
        <PageHeader title="Audit log" lead="All changes to the tenant, with actor and origin. Entries cannot be edited." />
        {show(me, page)}
    }
}

#[component]
fn Log(filter: Binding<AuditFilter>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let newest = fetch_data(move || {
        let filter = filter.value.get();
        let (tenant, api_query) = (tenant.get(), api_query(&filter));
        async move { api.audit(filter.log(), &tenant, &api_query, None).await }
    });
    view! {
        <Filter filter />
        {show_latest(newest, move |page| view! { <Entries page filter=filter.value /> })}
    }
}

/// The API parameters; days are in the person's time zone.
fn api_query(filter: &AuditFilter) -> Vec<(&'static str, String)> {
    let from = |day: &str| browser::day_start_ms(day).map(browser::rfc3339);
    let to = |day: &str| browser::day_end_ms(day).map(|at_ms| browser::rfc3339(at_ms + 1));
    filter.api_query(from, to)
}

#[component]
fn Filter(filter: Binding<AuditFilter>) -> impl IntoView {
    let field = move |value| of(filter, value);
    view! {
        <div class="filter" role="search">
            <Choice label="Event" value=field(|filter| &mut filter.action) options=actions() />
            <TextField label="Actor" kind="search" value=field(|filter| &mut filter.actor) />
            <TextField label="Name, ID or IP address" kind="search" value=field(|filter| &mut filter.search) />
            <TextField label="From" kind="date" value=field(|filter| &mut filter.from) />
            <TextField label="To" kind="date" value=field(|filter| &mut filter.until) />
        </div>
    }
}

/// Binds one field of the filter.
fn of(filter: Binding<AuditFilter>, field: fn(&mut AuditFilter) -> &mut String) -> Binding<String> {
    Binding {
        value: Signal::derive(move || field(&mut filter.value.get()).clone()),
        set: Callback::new(move |text| {
            let mut new = filter.value.get_untracked();
            *field(&mut new) = text;
            filter.set.run(new);
        }),
    }
}

/// The first page and the pages loaded after it.
#[component]
fn Entries(page: Signal<Page<AuditEntry>>, filter: Signal<AuditFilter>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let shown = RwSignal::new(Page { data: Vec::new(), next_cursor: None });
    Effect::new(move |_| shown.set(page.get()));
    let action = SubmitAction::new();
    let more = move |_| {
        let (filter, cursor) = (filter.get_untracked(), shown.get_untracked().next_cursor);
        let api_query = api_query(&filter);
        let older = async move { api.audit(filter.log(), &tenant.now(), &api_query, cursor).await };
        action.run(older, move |mut next| {
            shown.try_update(|shown| {
                shown.data.append(&mut next.data);
                shown.next_cursor = next.next_cursor;
            });
        });
    };
    let has_more = move || shown.with(|shown| shown.next_cursor.is_some());
    let count = move || {
        let more = if has_more() { "; older entries are not loaded yet" } else { "" };
        quantity(shown.with(|shown| shown.data.len()), "entry", "entries") + more
    };
    view! {
        <p class="muted" role="status">{count}</p>
        <Show
            when=move || shown.with(|shown| !shown.data.is_empty())
            fallback=|| view! { <Empty title="No matching entries"><p>"Remove a filter to see more."</p></Empty> }
        >
            <div class="table-wrap" tabindex="0" role="region" aria-label="Audit log">
                <table>
                    <thead><tr><th>"Event"</th><th>"Actor"</th><th>"IP address"</th><th>"Time"</th></tr></thead>
                    <For each=move || shown.get().data key=|entry| entry.id.clone() let:entry><Entry entry=entry /></For>
                </table>
            </div>
        </Show>
        <SubmitProblem problem=action.problem />
        <Show when=has_more>
            <button type="button" class="button" disabled=action.busy on:click=more>"Load older entries"</button>
        </Show>
    }
}

/// The URL query of the filter.
fn query(filter: &AuditFilter) -> String {
    let part = |(name, value): (_, String)| format!("{name}={}", browser::encode_component(&value));
    let parts: Vec<_> = filter.parameters().into_iter().map(part).collect();
    if parts.is_empty() { String::new() } else { format!("?{}", parts.join("&")) }
}
