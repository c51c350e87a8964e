//! Who did what, from where and when, with what it was before and after.

mod entry;

use leptos::prelude::*;
use weir_wire::audit::AuditEntry;
use weir_wire::page::Page;
use weir_wire::sessions::Me;
use weir_wire::tenants::Role;

use crate::access::Access;
use crate::api::Api;
use crate::browser;
use crate::components::act::Act;
use crate::components::feedback::{ActProblem, Empty};
use crate::components::field::{Bind, Choice, TextField};
use crate::components::load::{Load, kept, load, loaded};
use crate::components::page::PageHead;
use crate::components::wanted::by_address;
use crate::model::audit::{AuditLog, Wanted, actions, logs};
use crate::model::number::counted;
use crate::pages::shell::TenantId;
use entry::Entry;

/// The page. Whoever may not read the log is told so before it is asked for.
#[component]
pub fn Audit() -> impl IntoView {
    let (access, me) = (expect_context::<Access>(), expect_context::<Load<Me>>());
    let wanted = by_address(|said| Wanted::of(|name| said.get(name)), query);
    let log = Memo::new(move |_| wanted.value.get().log());
    let entries =
        move || match access.lacks(Role::Admin).filter(|_| log.get() == AuditLog::Tenant) {
            Some(why) => view! { <Empty title="The audit log is for admins."><p>{why}</p></Empty> }
                .into_any(),
            None => view! { <Log wanted /> }.into_any(),
        };
    let page = move |me: Me| {
        view! {
            <div class="filter">
                <Choice label="Log" value=of(wanted, |it| &mut it.log) options=logs(me.user.operator) />
            </div>
            {entries}
        }
    };
    view! {
        <PageHead title="Audit" lead="Who did what, from where and when. Nothing here can be changed." />
        {loaded(me, page)}
    }
}

#[component]
fn Log(wanted: Bind<Wanted>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let newest = load(move || {
        let wanted = wanted.value.get();
        let (tenant, asked) = (tenant.get(), asked(&wanted));
        async move { api.audit(wanted.log(), &tenant, &asked, None).await }
    });
    view! {
        <Filter wanted />
        {kept(newest, move |page| view! { <Entries page wanted=wanted.value /> })}
    }
}

/// What to ask for; days are those of the person's time zone.
fn asked(wanted: &Wanted) -> Vec<(&'static str, String)> {
    let from = |day: &str| browser::day_start_ms(day).map(browser::rfc3339);
    let to = |day: &str| browser::day_end_ms(day).map(|at_ms| browser::rfc3339(at_ms + 1));
    wanted.asked(from, to)
}

#[component]
fn Filter(wanted: Bind<Wanted>) -> impl IntoView {
    let field = move |value| of(wanted, value);
    view! {
        <div class="filter" role="search">
            <Choice label="What" value=field(|it| &mut it.action) options=actions() />
            <TextField label="Who" kind="search" value=field(|it| &mut it.who) />
            <TextField label="Name, id or address" kind="search" value=field(|it| &mut it.search) />
            <TextField label="From day" kind="date" value=field(|it| &mut it.from) />
            <TextField label="Until day" kind="date" value=field(|it| &mut it.until) />
        </div>
    }
}

/// One field of what is wanted.
fn of(wanted: Bind<Wanted>, field: fn(&mut Wanted) -> &mut String) -> Bind<String> {
    Bind {
        value: Signal::derive(move || field(&mut wanted.value.get()).clone()),
        set: Callback::new(move |text| {
            let mut new = wanted.value.get_untracked();
            *field(&mut new) = text;
            wanted.set.run(new);
        }),
    }
}

/// The first page, and those that were asked for after it.
#[component]
fn Entries(page: Signal<Page<AuditEntry>>, wanted: Signal<Wanted>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let shown = RwSignal::new(Page { data: Vec::new(), next_cursor: None });
    Effect::new(move |_| shown.set(page.get()));
    let act = Act::new();
    let more = move |_| {
        let (wanted, cursor) = (wanted.get_untracked(), shown.get_untracked().next_cursor);
        let asked = asked(&wanted);
        let older = async move { api.audit(wanted.log(), &tenant.now(), &asked, cursor).await };
        act.run(older, move |mut next| {
            shown.try_update(|shown| {
                shown.data.append(&mut next.data);
                shown.next_cursor = next.next_cursor;
            });
        });
    };
    let has_more = move || shown.with(|shown| shown.next_cursor.is_some());
    let count = move || {
        let more = if has_more() { "; older ones are not loaded yet" } else { "" };
        counted(shown.with(|shown| shown.data.len()), "entry", "entries") + more
    };
    view! {
        <p class="quiet" role="status">{count}</p>
        <Show
            when=move || shown.with(|shown| !shown.data.is_empty())
            fallback=|| view! { <Empty title="Nothing that was done fits this."><p>"Want less of it: another name, or any time."</p></Empty> }
        >
            <div class="table-wrap" tabindex="0" role="region" aria-label="Audit log">
                <table>
                    <thead><tr><th>"What"</th><th>"Who"</th><th>"From"</th><th>"When"</th></tr></thead>
                    <For each=move || shown.get().data key=|it| it.id.clone() let:it><Entry entry=it /></For>
                </table>
            </div>
        </Show>
        <ActProblem problem=act.problem />
        <Show when=has_more>
            <button type="button" class="button" disabled=act.busy on:click=more>"Load older entries"</button>
        </Show>
    }
}

/// What an address says of it.
fn query(wanted: &Wanted) -> String {
    let said = |(name, value): (_, String)| format!("{name}={}", browser::encoded(&value));
    let parts: Vec<_> = wanted.parameters().into_iter().map(said).collect();
    if parts.is_empty() { String::new() } else { format!("?{}", parts.join("&")) }
}
