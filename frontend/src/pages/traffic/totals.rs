//! The totals of the range, compared with an earlier one.

use leptos::prelude::*;
use weir_wire::stats::{Counts, Summary};

use super::since;
use crate::components::control_flow::Show;
use crate::model::number::{change, compact, grouped, per_second, share};
use crate::model::time_range::Comparison;

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

/// A tile for each outcome. `first` replaces the average rate, and `last` follows.
#[component]
pub fn Totals(
    summary: Signal<Summary>,
    /// The totals of the time to compare with.
    earlier: Signal<Option<Counts>>,
    comparison: Signal<Comparison>,
    /// When the checks began, if later than the time.
    first_check_ms: Memo<Option<i64>>,
    #[prop(optional)] first: Option<AnyView>,
    #[prop(optional)] last: Option<AnyView>,
) -> impl IntoView {
    let count = move |of: fn(&Counts) -> u64| summary.with(|summary| of(&summary.counts));
    let change = move |of: fn(&Counts) -> u64| {
        let before = earlier.get().map(|counts| of(&counts)).filter(|before| *before > 0);
        let change = before.and_then(|before| change(count(of), before));
        change.map(|change| format!(" · {change}")).unwrap_or_default()
    };
    let note = move |of: fn(&Counts) -> u64| {
        let share = share(count(of), count(Counts::checks));
        format!("{share} of checks{}", change(of))
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
            let from_ms = first_check_ms.get().unwrap_or(summary.from.0.as_millis());
            let span_ms = summary.to.0.as_millis() - from_ms;
            let seconds = u64::try_from(span_ms / 1_000).unwrap_or(1).max(1);
            per_second(summary.counts.checks(), seconds)
        })
    };
    let checks = move || {
        let since = first_check_ms.get().map(since).unwrap_or_default();
        format!("{} checks{since}{}", compact(count(Counts::checks)), change(Counts::checks))
    };
    let first = first.unwrap_or_else(|| {
        view! { <Tile name="Checks per second, average" value=Signal::derive(rate) note=Signal::derive(checks) /> }
            .into_any()
    });
    let against = move || match comparison.get() {
        Comparison::DayBefore => "the same time a day before",
        Comparison::WeekBefore => "the same time a week before",
        Comparison::Nothing | Comparison::Previous => "the previous period of the same length",
    };
    view! {
        <dl class="tiles">
            {first}
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
            <Show when=move || { count(|counts| counts.degraded) > 0 }>
                {tile("Decided without Redis", "tile-degraded", |counts| counts.degraded)}
            </Show>
            <Show when=move || { count(|counts| counts.refunded) > 0 }>
                {tile("Refunds", "", |counts| counts.refunded)}
            </Show>
            {last}
        </dl>
        <p class="note">"Changes are against "{against}"."</p>
    }
}
