//! Finding a subject: by a part of its value, or among the most denied and the most active.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::components::A;
use leptos_router::hooks::use_navigate;
use weir_wire::stats::{Top, TopEntry};

use super::near_limit::NearLimits;
use crate::api::Api;
use crate::charts::geometry::Scale;
use crate::charts::timeline::{WIDTH, percent};
use crate::components::combobox::Combobox;
use crate::components::control_flow::Show;
use crate::components::feedback::Skeleton;
use crate::components::namespace::namespace_in_url;
use crate::components::page::PageHeader;
use crate::components::remote_data::{RemoteData, fetch_data, show_latest_shaped};
use crate::components::tabs::{Tabs, tab_in_url};
use crate::components::time_range::{TimeRangePicker, time_in_url};
use crate::model::number::{grouped, share_within};
use crate::model::palette::{Entry, search};
use crate::model::subject;
use crate::pages::namespace_filter::NamespaceFilter;
use crate::pages::shell::{TenantId, server_hits};
use crate::pages::traffic::{ExportSubjects, TopNotes, TrafficFilter, refresh};

/// The most subjects of a list.
const LISTED: u32 = 15;
/// The tabs, in their order.
const TABS: [&str; 2] = ["Busiest", "Near limit"];

#[component]
pub(super) fn Finder() -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let (time, namespace) = (time_in_url(), namespace_in_url());
    let region = Signal::stored(String::new());
    let filter = TrafficFilter { tenant, namespace: namespace.value, region, time };
    let panel = Callback::new(move |tab| match tab {
        0 => view! { <Busiest filter /> }.into_any(),
        _ => view! { <NearLimits namespace=namespace.value /> }.into_any(),
    });
    view! {
        <PageHeader title="Subjects" lead="The people, customers or addresses that rules count">
            <NamespaceFilter namespace />
        </PageHeader>
        <Find />
        <div class="stack"><Tabs label="Subjects" names=TABS.to_vec() chosen=tab_in_url(&TABS) panel /></div>
    }
}

/// The subjects that are most denied and most active.
#[component]
fn Busiest(filter: TrafficFilter) -> impl IntoView {
    let (api, time) = (expect_context::<Api>(), filter.time);
    let list = move |order: &'static str| {
        let top = fetch_data(move || api.top_subjects(&filter.scope(None), order, LISTED));
        refresh(time, move || top.poll());
        top
    };
    let (denied, active) = (list("denied"), list("checks"));
    let scope = Signal::derive(move || filter.scope(None));
    let export = move |order: &'static str| view! { <div class="actions"><ExportSubjects scope order /></div> };
    view! {
        <TimeRangePicker time compares=false />
        <div class="columns">
            <div class="stack">{list_of("Most denied", Order::Denied, denied)}{export("denied")}</div>
            <div class="stack">{list_of("Most active", Order::Active, active)}{export("checks")}</div>
        </div>
    }
}

/// Opens a subject: one that the server finds or can open, or one that is named like `user=u-17`.
#[component]
fn Find() -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let typed = RwSignal::new(String::new());
    let hits = server_hits(typed);
    let entries = Memo::new(move |_| {
        let mut entries = typed.with(|typed| search(typed, &hits.entries.get()));
        entries.retain(|entry| entry.kind == "Subject");
        entries
    });
    let options = Signal::derive(move || {
        let option = |entry: Entry| ("", entry.label, entry.detail);
        entries.get().into_iter().map(option).collect()
    });
    let navigate = use_navigate();
    let choose = Callback::new(move |at: usize| {
        if let Some(page) =
            entries.with_untracked(|all| all.get(at).map(|entry| entry.page.clone()))
        {
            navigate(&format!("/t/{}/{page}", tenant.now()), NavigateOptions::default());
        }
    });
    view! {
        <div class="card subject-search" role="search">
            <Combobox label="Find a customer, user, address or other subject" typed options searching=hits.searching choose focused=false />
        </div>
    }
}

/// The number that orders a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Denied,
    Active,
}

impl Order {
    fn of(self, entry: &TopEntry) -> u64 {
        match self {
            Self::Denied if entry.enforced() == 0 => entry.shadow_denied,
            Self::Denied => entry.enforced(),
            Self::Active => entry.checks,
        }
    }

    /// The class of the bar of an entry.
    fn bar(self, entry: &TopEntry) -> &'static str {
        match self {
            Self::Active => "bar",
            Self::Denied if entry.enforced() == 0 => "bar would-deny",
            Self::Denied => "bar denied",
        }
    }
}

fn list_of(title: &'static str, order: Order, top: RemoteData<Top>) -> impl IntoView {
    let of = move |entry: &TopEntry| order.of(entry);
    let rows = move |top: Top| {
        let error = top.error_at_most;
        let entries: Vec<_> = top.data.into_iter().filter(|entry| of(entry) > 0).collect();
        let most = entries.iter().map(of).max().unwrap_or(0);
        entries.into_iter().map(|entry| row(entry, order, most, error)).collect::<Vec<_>>()
    };
    show_latest_shaped(top, Skeleton::Card, move |top| {
        let none = Memo::new(move |_| top.with(|top| top.data.iter().all(|entry| of(entry) == 0)));
        view! {
            <div class="card stack">
                <h2>{title}</h2>
                <Show when=move || !none.get() fallback=|| view! { <p class="muted">"No subjects in this period"</p> }>
                    <div class="table-wrap" tabindex="0" role="region" aria-label=title>
                        <table class="bars">
                            <thead><tr>
                                <th scope="col">"Subject"</th><th scope="col" class="number">"Checks"</th>
                                <th scope="col" class="number">"Denied"</th>
                            </tr></thead>
                            <tbody>{move || rows(top.get())}</tbody>
                        </table>
                    </div>
                </Show>
                <TopNotes top />
            </div>
        }
    })
}

fn row(entry: TopEntry, order: Order, most: u64, error: u64) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let width = percent(Scale { most, start: 0, end: WIDTH }.place(order.of(&entry)));
    let bar = order.bar(&entry);
    let denied = entry.enforced();
    let TopEntry { rule, subject, checks, shadow_denied, .. } = entry;
    let share = share_within(denied, checks, error);
    let share = share.map(|share| format!(" · {share}"));
    // A rule in shadow mode denies nothing.
    let would = (shadow_denied > 0)
        .then(|| view! { <div class="note">"would deny "{grouped(shadow_denied)}</div> });
    let attributes = subject.unwrap_or_default();
    let (label, page) = (subject::label(&attributes), subject::page(&attributes));
    view! {
        <tr>
            <td class="bar-cell">
                <A href=move || tenant.page(&page) attr:class="name"><bdi>{label}</bdi></A>
                <span class="muted">" in "{rule.unwrap_or_else(|| "a deleted rule".to_owned())}</span>
                <i class=bar style=("width", width)></i>
            </td>
            <td class="number">{grouped(checks)}</td>
            <td class="number">{grouped(denied)}{share}{would}</td>
        </tr>
    }
}
