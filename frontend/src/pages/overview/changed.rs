//! Changes in the selected time: the rules whose denials rose or fell most, and the latest events.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::stats::{Event, EventKind, Top};

use crate::api::Api;
use crate::browser::clock_time;
use crate::components::remote_data::{RemoteData, fetch_after};
use crate::components::time::RelativeTime;
use crate::model::marker::{Marker, pinned_first};
use crate::model::movers::{Mover, movers};
use crate::model::number::{change, grouped};
use crate::model::time_range::Comparison;
use crate::pages::shell::TenantId;
use crate::pages::traffic::{Traffic, TrafficFilter, refresh};

/// The most rules whose denials are compared with those of the previous period.
pub(super) const RULES_COMPARED: u32 = 100;
/// The most rules and events listed.
const LISTED: usize = 6;

#[component]
pub(super) fn Changed(
    rules: RemoteData<Top>,
    filter: TrafficFilter,
    traffic: Traffic,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let before = fetch_after(traffic.first_shown, move || {
        let mut about = filter.scope(None);
        let bounds = Comparison::Previous.bounds_ms((about.from_ms, about.to_ms));
        (about.from_ms, about.to_ms) = bounds.expect("there is a previous period");
        api.top(&about, "rule", RULES_COMPARED)
    });
    refresh(filter.time, move || before.poll());
    let current = move || {
        let (now, before) = (rules.data()?, before.data()?);
        let listed = usize::try_from(RULES_COMPARED).unwrap_or(usize::MAX);
        Some(movers(&now.data, &before.data, listed, LISTED))
    };
    // A failed refetch leaves the last changes.
    let found = Memo::new(move |last: Option<&Option<Vec<Mover>>>| {
        current().or_else(|| last.cloned().flatten())
    });
    let denials = move || {
        match found.get() {
        None => view! { <p class="muted">"…"</p> }.into_any(),
        Some(movers) if movers.is_empty() => {
            view! { <p class="muted">"No rule denies more or fewer checks than in the previous period"</p> }.into_any()
        }
        Some(movers) => {
            let rows: Vec<_> = movers.into_iter().map(mover).collect();
            view! { <ul class="plain-list">{rows}</ul> }.into_any()
        }
    }
    };
    let latest = move || {
        let (events, truncated) =
            traffic.events.data().map(|found| (found.data, found.truncated)).unwrap_or_default();
        let entries: Vec<_> = pinned_first(&events).into_iter().take(LISTED).map(entry).collect();
        let more = events.len().saturating_sub(LISTED);
        let sign = if truncated { "+" } else { "" };
        let more = (more > 0).then(|| {
            view! { <p class="note">{more}{sign}" more in the chart's table and in the "<A href=move || tenant.page("audit")>"audit log"</A></p> }
        });
        (!entries.is_empty()).then(|| {
            view! { <h3>"Rules, alerts and outages"</h3><ul class="plain-list">{entries}</ul>{more} }
        })
    };
    view! {
        <section aria-label="What changed" class="card stack">
            <h2>"What changed"</h2>
            <h3>"Denials by rule, against the previous period"</h3>
            {denials}
            {latest}
        </section>
    }
}

fn mover(mover: Mover) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let Mover { rule_id, rule, shadow, before, now } = mover;
    let would = shadow.then_some("would deny ");
    let class = match (shadow, now > before) {
        (true, _) => "muted",
        (false, true) => "risen",
        (false, false) => "fallen",
    };
    let change = change(now, before).unwrap_or_default();
    view! {
        <li>
            <A href=move || tenant.page(&format!("rules/{rule_id}"))>{rule}</A>
            <span class="muted">{would}{grouped(before)}" → "{grouped(now)}</span>
            <span class=class>{change}</span>
        </li>
    }
}

/// An event, with a link to its rule.
fn entry(event: &Event) -> impl IntoView + use<> {
    let tenant = expect_context::<TenantId>();
    let text = Marker::of(event).text;
    let page = match (event.kind, &event.rule_id) {
        (EventKind::Alert, _) => Some("alerts".to_owned()),
        (EventKind::Enforcement, _) => Some("settings".to_owned()),
        _ if event.action.as_deref() == Some("rule.delete") => None,
        (_, rule) => rule.as_ref().map(|id| format!("rules/{id}")),
    };
    let text = match page {
        Some(page) => view! { <A href=move || tenant.page(&page)>{text}</A> }.into_any(),
        None => view! { <span>{text}</span> }.into_any(),
    };
    let last = event.until.unwrap_or(event.at);
    let times = event.until.map(|until| {
        let [from, until] = [event.at, until].map(|at| clock_time(at.0.as_millis()));
        format!("{from}–{until}, ")
    });
    view! { <li>{text}<span class="muted">{times}<RelativeTime at=last /></span></li> }
}
