//! The totals of the range, compared with the previous period of the same length.

use leptos::prelude::*;
use weir_wire::stats::{Counts, Summary};

use crate::model::number::{compact, grouped, per_second, share};

/// A tile for each outcome.
#[component]
pub(super) fn Totals(summary: Signal<Summary>) -> impl IntoView {
    let tile = move |name: &'static str, class: &'static str, of: fn(&Counts) -> u64| {
        let now = move || summary.with(|summary| of(&summary.counts));
        let before = move || summary.with(|summary| of(&summary.previous));
        let shade = move || if now() > 0 { class } else { "tile" };
        let note = move || format!("{} in the previous period", compact(before()));
        view! {
            <div class=shade>
                <dt>{name}</dt>
                <dd title=move || grouped(now())>{move || compact(now())}</dd>
                <dd class="note">{note}</dd>
            </div>
        }
    };
    let rate = move || {
        summary.with(|summary| {
            let span_ms = summary.to.0.as_millis() - summary.from.0.as_millis();
            let seconds = u64::try_from(span_ms / 1000).unwrap_or(1).max(1);
            per_second(summary.counts.checks(), seconds)
        })
    };
    let denied =
        move || summary.with(|summary| share(summary.counts.denied, summary.counts.checks()));
    view! {
        <dl class="tiles">
            <div class="tile">
                <dt>"Checks per second, average"</dt>
                <dd>{rate}</dd>
                <dd class="note">{denied}" denied"</dd>
            </div>
            {tile("Allowed", "tile", |counts| counts.allowed)}
            {tile("Denied", "tile tile-denied", |counts| counts.denied)}
            <Show when=move || summary.with(|summary| summary.tenant_rate_denied > 0)>
                <div class="tile tile-denied">
                    <dt>"Denied: tenant ceiling"</dt>
                    <dd>{move || summary.with(|summary| compact(summary.tenant_rate_denied))}</dd>
                    <dd class="note">"more checks per second than the tenant's ceiling, independent of rules"</dd>
                </div>
            </Show>
            {tile("Would deny (shadow)", "tile tile-shadow", |counts| counts.shadow_denied)}
        </dl>
    }
}
