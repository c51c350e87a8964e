//! The audit log: actor, action, origin, time, and the values before and after.

mod columns;
mod entry;
mod names;

use leptos::prelude::*;
use weir_wire::audit::AuditEntry;
use weir_wire::page::Page;
use weir_wire::sessions::Me;
use weir_wire::tenants::Role;

use crate::access::Access;
use crate::api::Api;
use crate::browser;
use crate::components::data_table::table_in_url;
use crate::components::feedback::{Empty, Skeleton};
use crate::components::field::{Binding, Choice, TextField};
use crate::components::page::PageHeader;
use crate::components::paged::{Paged, PagedTable};
use crate::components::remote_data::{RemoteData, fetch_data, show_latest_shaped, show_table};
use crate::components::url_state::url_state;
use crate::model::audit::{AuditFilter, AuditLog, actions, logs};
use crate::pages::shell::TenantId;
use columns::columns;
use entry::EntryDrawer;
use names::Names;

/// The page. People without the required role see the reason, and no request is sent.
#[component]
pub fn Audit() -> impl IntoView {
    let (access, me) = (expect_context::<Access>(), expect_context::<RemoteData<Me>>());
    let filter = url_state(
        &AuditFilter::PARAMETERS,
        |url| AuditFilter::of(|name| url.get(name)),
        AuditFilter::parameters,
    );
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
        {show_table(me, page)}
    }
}

#[component]
fn Log(filter: Binding<AuditFilter>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let newest = fetch_data(move || {
        let filter = filter.value.get();
        let (tenant, api_query) = (tenant.get(), api_query(&filter));
        api.audit(filter.log(), &tenant, &api_query, None)
    });
    view! {
        <Filter filter />
        {show_latest_shaped(newest, Skeleton::Table, move |page| view! { <Entries page filter=filter.value /> })}
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
    let paged = Paged::new(page, move |cursor| {
        let filter = filter.get();
        api.audit(filter.log(), &tenant.now(), &api_query(&filter), cursor)
    });
    let open = RwSignal::new(None::<AuditEntry>);
    let names = Names::of(paged.rows);
    view! {
        <PagedTable
            paged
            label="Audit log"
            nouns=("entry", "entries")
            columns=columns(names, open)
            id=|entry| entry.id.clone()
            view=table_in_url()
            empty=|| view! { <Empty title="No matching entries"><p>"Remove a filter to see more."</p></Empty> }
            more="Load older entries"
        />
        <EntryDrawer open names />
    }
}
