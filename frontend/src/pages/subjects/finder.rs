//! Finding a subject: by its attribute, or among the most denied and the most active.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::components::A;
use leptos_router::hooks::use_navigate;
use weir_wire::stats::{Top, TopEntry};

use crate::api::Api;
use crate::charts::geometry::Scale;
use crate::charts::timeline::{WIDTH, percent};
use crate::components::control_flow::Show;
use crate::components::feedback::Skeleton;
use crate::components::field::TextField;
use crate::components::namespace::namespace_in_url;
use crate::components::page::PageHeader;
use crate::components::remote_data::{RemoteData, fetch_data, show_latest_shaped};
use crate::components::time_range::{TimeRangePicker, time_in_url};
use crate::model::number::{grouped, share_within};
use crate::model::subject;
use crate::pages::namespace_filter::NamespaceFilter;
use crate::pages::shell::TenantId;
use crate::pages::traffic::{TopNotes, TrafficFilter, refresh};

/// The most subjects of a list.
const LISTED: u32 = 15;

#[component]
pub(super) fn Finder() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (time, namespace) = (time_in_url(), namespace_in_url());
    let filter = TrafficFilter { tenant, namespace: namespace.value, time };
    let list = move |order: &'static str| {
        let top = fetch_data(move || api.top_subjects(&filter.scope(None), order, LISTED));
        refresh(time, move || top.poll());
        top
    };
    let (denied, active) = (list("denied"), list("checks"));
    view! {
        <PageHeader title="Subjects" lead="The people, customers or addresses that rules count">
            <NamespaceFilter namespace />
            <TimeRangePicker time compares=false />
        </PageHeader>
        <Search denied />
        <div class="columns">
            {list_of("Most denied", Order::Denied, denied)}
            {list_of("Most active", Order::Active, active)}
        </div>
    }
}

/// Opens the page of the entered subject.
#[component]
fn Search(denied: RemoteData<Top>) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let (attribute, value) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    // The first attribute that rules count by, until the person enters another.
    Effect::new(move |_| {
        let named = |entry: TopEntry| entry.subject?.into_keys().next();
        let known = denied.data().and_then(|top| top.data.into_iter().find_map(named));
        if let Some(known) = known.filter(|_| attribute.with_untracked(String::is_empty)) {
            attribute.set(known);
        }
    });
    let incomplete = move || {
        attribute.with(|name| name.trim().is_empty()) || value.with(|value| value.trim().is_empty())
    };
    let navigate = use_navigate();
    let open = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        if untrack(incomplete) {
            return;
        }
        let pair = [attribute, value].map(|field| field.get_untracked().trim().to_owned());
        let [name, value] = pair;
        let page = subject::page(&[(name, value)].into());
        navigate(&format!("/t/{}/{page}", tenant.now()), NavigateOptions::default());
    };
    view! {
        <form class="filter subject-search" role="search" on:submit=open>
            <TextField label="Attribute" value=attribute />
            <TextField label="Value" value=value />
            <button type="submit" class="button primary" disabled=incomplete>"Show subject"</button>
        </form>
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
            Self::Denied => entry.denied,
            Self::Active => entry.checks,
        }
    }

    /// The class of the bar of an entry.
    fn bar(self, entry: &TopEntry) -> &'static str {
        match self {
            Self::Active => "bar",
            Self::Denied if entry.shadow_denied >= entry.denied => "bar would-deny",
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
    let TopEntry { rule, subject, checks, denied, shadow_denied, .. } = entry;
    let share = share_within(denied, checks, error);
    let share = share.map(|share| format!(" · {share}"));
    // A rule in shadow mode denies nothing.
    let would = (shadow_denied > 0).then(|| view! { <div class="note">"would deny"</div> });
    let attributes = subject.unwrap_or_default();
    let (label, page) = (subject::label(&attributes), subject::page(&attributes));
    view! {
        <tr>
            <td class="bar-cell">
                <A href=move || tenant.page(&page) attr:class="name">{label}</A>
                <span class="muted">" in "{rule.unwrap_or_else(|| "a deleted rule".to_owned())}</span>
                <i class=bar style=("width", width)></i>
            </td>
            <td class="number">{grouped(checks)}</td>
            <td class="number">{grouped(denied)}{share}{would}</td>
        </tr>
    }
}
