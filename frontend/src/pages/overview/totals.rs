//! The totals of the stretch, beside those of the one before.

use leptos::prelude::*;
use weir_wire::stats::{Counts, Summary};

use crate::model::number::{compact, grouped, per_second, share};

/// A tile for each.
#[component]
pub(super) fn Totals(summary: Signal<Summary>) -> impl IntoView {
    let tile = move |name: &'static str, class: &'static str, of: fn(&Counts) -> u64| {
        let now = move || summary.with(|it| of(&it.counts));
        let before = move || summary.with(|it| of(&it.previous));
        let shade = move || if now() > 0 { class } else { "tile" };
        let note = move || format!("{} in the time before", compact(before()));
        view! {
            <div class=shade>
                <dt>{name}</dt>
                <dd title=move || grouped(now())>{move || compact(now())}</dd>
                <dd class="note">{note}</dd>
            </div>
        }
    };
    let rate = move || {
        summary.with(|it| {
            let span_ms = it.to.0.as_millis() - it.from.0.as_millis();
            let seconds = u64::try_from(span_ms / 1000).unwrap_or(1).max(1);
            per_second(it.counts.checks(), seconds)
        })
    };
    let denied = move || summary.with(|it| share(it.counts.denied, it.counts.checks()));
    view! {
        <dl class="tiles">
            <div class="tile">
                <dt>"Checks a second, on average"</dt>
                <dd>{rate}</dd>
                <dd class="note">{denied}" of them denied"</dd>
            </div>
            {tile("Allowed", "tile", |counts| counts.allowed)}
            {tile("Denied", "tile tile-denied", |counts| counts.denied)}
            <Show when=move || summary.with(|it| it.tenant_rate_denied > 0)>
                <div class="tile tile-denied">
                    <dt>"Denied: too many checks a second"</dt>
                    <dd>{move || summary.with(|it| compact(it.tenant_rate_denied))}</dd>
                    <dd class="note">"beyond the tenant's ceiling, whatever its rules"</dd>
                </div>
            </Show>
            {tile("Shadow: would be denied", "tile tile-shadow", |counts| counts.shadow_denied)}
        </dl>
    }
}
