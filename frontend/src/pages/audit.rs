//! Who did what, from where and when, with what it was before and after.

mod entry;

use leptos::prelude::*;
use weir_wire::audit::AuditEntry;
use weir_wire::page::Page;
use weir_wire::sessions::Me;
use weir_wire::tenants::Role;

use crate::access::Access;
use crate::api::Api;
use crate::components::act::Act;
use crate::components::feedback::{ActProblem, Empty};
use crate::components::field::{Choice, TextField};
use crate::components::load::{Load, load, loaded};
use crate::components::page::PageHead;
use crate::model::audit::{kinds, shows};
use crate::model::number::counted;
use crate::pages::shell::TenantId;
use entry::Entry;

/// The page. Whoever may not read the log is told so before it is asked for.
#[component]
pub fn Audit() -> impl IntoView {
    let (access, me) = (expect_context::<Access>(), expect_context::<Load<Me>>());
    let page = move |_| match access.lacks(Role::Admin) {
        Some(why) => {
            view! { <Empty title="The audit log is for admins."><p>{why}</p></Empty> }.into_any()
        }
        None => view! { <Log /> }.into_any(),
    };
    view! {
        <PageHead title="Audit" lead="Who did what, from where and when. Nothing here can be changed." />
        {loaded(me, page)}
    }
}

#[component]
fn Log() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let newest = load(move || {
        let tenant = tenant.get();
        async move { api.audit(&tenant, None).await }
    });
    loaded(newest, |page| view! { <Entries page /> })
}

#[component]
fn Entries(page: Page<AuditEntry>) -> impl IntoView {
    let entries = RwSignal::new(page.data);
    let cursor = RwSignal::new(page.next_cursor);
    let (typed, kind) = (RwSignal::new(String::new()), RwSignal::new(None::<&'static str>));
    let shown = Memo::new(move |_| {
        let wanted = |it: &&AuditEntry| typed.with(|typed| shows(it, typed, kind.get()));
        entries.with(|entries| entries.iter().filter(wanted).cloned().collect::<Vec<_>>())
    });
    let count = move || {
        let (all, some) = (entries.with(Vec::len), shown.with(Vec::len));
        let of_all = counted(all, "entry", "entries");
        let of_all = if some == all { of_all } else { format!("{some} of {of_all}") };
        let more =
            if cursor.with(Option::is_some) { "; older ones are not loaded yet" } else { "" };
        of_all + more
    };
    view! {
        <div class="filter" role="search">
            <TextField label="Filter" kind="search" value=typed />
            <Choice label="About" value=kind.into() options=kinds() />
            <p class="quiet" role="status">{count}</p>
        </div>
        <div class="table-wrap" tabindex="0" role="region" aria-label="Audit log">
            <table>
                <thead><tr><th>"What"</th><th>"Who"</th><th>"From"</th><th>"When"</th></tr></thead>
                <For each=move || shown.get() key=|it| it.id.clone() let:it><Entry entry=it /></For>
            </table>
        </div>
        <Older entries cursor />
    }
}

/// The way to what happened before.
#[component]
fn Older(entries: RwSignal<Vec<AuditEntry>>, cursor: RwSignal<Option<String>>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let act = Act::new();
    let more = move |_| {
        let from = cursor.get_untracked();
        act.run(async move { api.audit(&tenant.now(), from.as_deref()).await }, move |mut page| {
            entries.try_update(|entries| entries.append(&mut page.data));
            cursor.try_set(page.next_cursor);
        });
    };
    view! {
        <ActProblem problem=act.problem />
        <Show when=move || cursor.with(Option::is_some)>
            <button type="button" class="button" disabled=act.busy on:click=more>"Load older entries"</button>
        </Show>
    }
}
