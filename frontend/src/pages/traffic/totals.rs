//! The totals of the range, compared with the previous period of the same length.

use leptos::prelude::*;
use weir_wire::stats::{Counts, Summary};

use crate::components::control_flow::Show;
use crate::model::number::{change, compact, grouped, per_second, share};

/// A number with its name and a note.
#[component]
pub fn Tile(
    #[prop(into)] name: Signal<String>,
    #[prop(into)] value: Signal<String>,
    #[prop(optional, into)] exact: Signal<String>,
    #[prop(optional, into)] note: Signal<String>,
    /// The classes of the tile.
    #[prop(optional, into)]
    class: Signal<String>,
    /// A drawing below the number.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    let exact = move || Some(exact.get()).filter(|exact| !exact.is_empty());
    view! {
        <div class=move || format!("tile {}", class.get())>
            <dt>{name}</dt>
            <dd title=exact>{value}</dd>
            <dd class="note">{note}</dd>
            {children.map(|children| view! { <dd class="note tile-drawing">{children()}</dd> })}
        </div>
    }
}

/// A tile for each outcome; `first` precedes them, and `last` follows.
#[component]
pub fn Totals(
    summary: Signal<Summary>,
    #[prop(optional)] first: Option<AnyView>,
    #[prop(optional)] last: Option<AnyView>,
) -> impl IntoView {
    let count = move |of: fn(&Counts) -> u64| summary.with(|summary| of(&summary.counts));
    let note = move |of: fn(&Counts) -> u64| {
        summary.with(|summary| {
            let (now, before) = (of(&summary.counts), of(&summary.previous));
            let share = share(now, summary.counts.checks());
            let change =
                change(now, before).map(|change| format!(" · {change}")).unwrap_or_default();
            format!("{share} of checks{change}")
        })
    };
    let tile = move |name: &'static str, class: &'static str, of: fn(&Counts) -> u64| {
        let class = move || if count(of) > 0 { class.to_owned() } else { String::new() };
        view! {
            <Tile
                name=name
                value=Signal::derive(move || compact(count(of)))
                exact=Signal::derive(move || grouped(count(of)))
                note=Signal::derive(move || note(of))
                class=Signal::derive(class)
            />
        }
    };
    let rate = move || {
        summary.with(|summary| {
            let span_ms = summary.to.0.as_millis() - summary.from.0.as_millis();
            let seconds = u64::try_from(span_ms / 1000).unwrap_or(1).max(1);
            per_second(summary.counts.checks(), seconds)
        })
    };
    let checks = move || {
        summary.with(|summary| {
            let (now, before) = (summary.counts.checks(), summary.previous.checks());
            let change =
                change(now, before).map(|change| format!(" · {change}")).unwrap_or_default();
            format!("{} checks{change}", compact(now))
        })
    };
    let average = view! {
        <Tile name="Checks per second, average" value=Signal::derive(rate) note=Signal::derive(checks) />
    };
    view! {
        <dl class="tiles">
            {first}
            {average}
            {tile("Allowed", "", |counts| counts.allowed)}
            {tile("Denied", "tile-denied", |counts| counts.denied)}
            <Show when=move || summary.with(|summary| summary.tenant_rate_denied > 0)>
                <Tile
                    name="Denied: tenant ceiling"
                    value=Signal::derive(move || summary.with(|summary| compact(summary.tenant_rate_denied)))
                    note="more checks per second than the tenant's ceiling, independent of rules".to_owned()
                    class="tile-denied".to_owned()
                />
            </Show>
            {tile("Would deny (shadow)", "tile-shadow", |counts| counts.shadow_denied)}
            {tile("Decided without Redis", "tile-degraded", |counts| counts.degraded)}
            <Show when=move || { count(|counts| counts.refunded) > 0 }>
                {tile("Refunds", "", |counts| counts.refunded)}
            </Show>
            {last}
        </dl>
        <p class="note">"Changes are against the previous period of the same length."</p>
    }
}
